/**
 * An MCP server with a tool that needs the signature of the user: a shop in which an agent orders tickets, and the user signs the payment.
 *
 *     ISSUER=https://auth.example.com RESOURCE=https://shop.example.com/mcp CLIENT_ID=… CLIENT_SECRET=… npx node examples/mcp-server/index.ts
 *
 * If the client of the user offers URL elicitation, the client opens the link on which the user signs. Otherwise the model gets the link and the
 * letters as text, shows them to the user, and calls the tool again.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createProtectedResource } from '@grantor/resource'
import { accessTokenOf, answerRefusals, protectMcp } from '@grantor/resource/mcp'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, fromJsonSchema, type McpRequestContext, McpServer } from '@modelcontextprotocol/server'

export type Order = { tickets: number; amount: string; currency: 'USDC' }

export type ShopOptions = {
  issuer: string
  /** the address of this server, such as `https://shop.example.com/mcp`; also the `aud` of its tokens */
  resource: string
  /** the server's own credentials (a client made with `clients create --resource-server`) */
  clientId: string
  clientSecret: string
  /** takes the money */
  pay: (wallet: string, order: Order) => void
  /** epoch seconds; the clock of the machine if absent */
  now?: () => number
}

const PRICE = 5

/** The server, which does not listen yet. */
export function createShop({ clientId, clientSecret, pay, ...options }: ShopOptions): Server {
  const resource = createProtectedResource({
    ...options,
    introspection: { clientId, clientSecret },
    scopes: ['shop'],
    name: 'Tickets',
  })
  /** By wallet and number. Keep orders in a database. */
  const orders = new Map<string, { order: Order; isPaid: boolean }>()

  /** The SDK makes one server for each request, so the tools of a server have one caller. */
  function buildServer({ authInfo }: McpRequestContext): McpServer {
    const token = accessTokenOf(authInfo)
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    const tool = answerRefusals(resource, server)

    server.registerTool('order_tickets', ORDER_TICKETS, ({ tickets }) => {
      const number = randomUUID()
      const order: Order = { tickets, amount: String(tickets * PRICE), currency: 'USDC' }
      orders.set(`${token.wallet} ${number}`, { order, isPaid: false })
      return text(`The number of the order is ${number}. It costs ${order.amount} USDC, and is not paid.`)
    })

    server.registerTool(
      'pay_order',
      PAY_ORDER,
      tool(async ({ number }) => {
        const found = orders.get(`${token.wallet} ${number}`)
        if (!found) return text('There is no such order.')
        if (found.isPaid) return text('The order is paid.')
        const { order: action } = found
        const summary = `Pay ${action.amount} USDC for ${action.tickets === 1 ? '1 ticket' : `${action.tickets} tickets`}`
        // Throws unless the user has signed. Of all calls for this order, one passes.
        await resource.approve(token, { key: number, summary, action })
        pay(token.wallet, action)
        found.isPaid = true
        return text('The order is paid.')
      }),
    )
    return server
  }

  const listener = getRequestListener(protectMcp(resource, createMcpHandler(buildServer)).fetch)
  return createServer((request, response) => void listener(request, response))
}

const ORDER_TICKETS = {
  description: 'Orders tickets. Returns the number of the order. The order must be paid with pay_order.',
  inputSchema: fromJsonSchema<{ tickets: number }>({
    type: 'object',
    properties: { tickets: { type: 'integer', minimum: 1, maximum: 20 } },
    required: ['tickets'],
  }),
}

const PAY_ORDER = {
  description:
    'Pays an order after the user has signed the payment. If the result has a link and letters, show both to the user. Call the tool again after ' +
    'the signature. If the user declined, or did not sign in time, order again.',
  inputSchema: fromJsonSchema<{ number: string }>({
    type: 'object',
    properties: { number: { type: 'string' } },
    required: ['number'],
  }),
}

function text(words: string) {
  return { content: [{ type: 'text' as const, text: words }] }
}

function requireVariable(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const resource = requireVariable('RESOURCE')
  const { PORT = new URL(resource).port || '8080' } = process.env
  const shop = createShop({
    issuer: requireVariable('ISSUER'),
    resource,
    clientId: requireVariable('CLIENT_ID'),
    clientSecret: requireVariable('CLIENT_SECRET'),
    pay: (wallet, { amount, currency }) => console.log(`${wallet} paid ${amount} ${currency}.`),
  })
  shop.listen(Number(PORT), '127.0.0.1', () => console.log(`The MCP server listens at ${resource}, on the port ${PORT}`))
}
