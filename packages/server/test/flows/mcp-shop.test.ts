/** The example of an MCP server whose user signs a payment, with the clients of the official SDK, 1.x and 2.x. */
import { once } from 'node:events'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createShop, type Order } from '../../../../examples/mcp-server/index.ts'
import { type App, appOf } from '../support/app.ts'
import { decide, openApproval, sign } from '../support/approvals.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'

let grantor: Grantor
let resource: string
let client: TestClient
let app: App
let paid: [wallet: string, order: Order][]
let close: () => Promise<void>

beforeAll(async () => {
  const [port] = await freePorts(1)
  resource = `http://localhost:${port}/mcp`
  grantor = await startGrantor()
  client = await grantor.createClient({ name: 'Agent', scopes: ['shop'], resources: [resource] })
  const api = await grantor.createClient({ name: 'Tickets', redirectUris: [], resourceServer: resource })
  const shop = createShop({
    issuer: grantor.authUrl,
    resource,
    clientId: api.id,
    clientSecret: api.secret,
    pay: (...payment) => paid.push(payment),
    now: grantor.clock.now,
  })
  shop.listen(port, '127.0.0.1')
  await once(shop, 'listening')
  close = async () => {
    shop.close()
    shop.closeAllConnections()
    await grantor.close()
  }
})
afterAll(() => close())
// Each test has a grant of its own, so no bound of another test counts.
beforeEach(async () => {
  paid = []
  const walk = new Walk(grantor)
  await walk.signIn({ ...requestOf(client), prompt: 'login' })
  app = appOf(grantor, client, walk)
})

const INFO = { name: 'agent', version: '1.0.0' }
const PAYMENT = { tickets: 4, amount: '20', currency: 'USDC' }

type Tools = { callTool(call: { name: string; arguments: object }): Promise<unknown> }

async function requestInit() {
  const { access_token: token } = await app.freshTokens({ resource, scope: 'shop' })
  return { requestInit: { headers: { authorization: `Bearer ${token}` } } }
}

async function connect2(open?: (link: { url: string; message: string }) => Promise<void>): Promise<Tools> {
  const offers = open ? { capabilities: { elicitation: { url: {} } } } : {}
  const sdk = new Client2(INFO, { versionNegotiation: { mode: 'auto' }, ...offers })
  if (open)
    sdk.setRequestHandler('elicitation/create', async ({ params }) => {
      await open(params as unknown as { url: string; message: string })
      return { action: 'accept' }
    })
  await sdk.connect(new Transport2(new URL(resource), await requestInit()))
  onTestFinished(() => sdk.close())
  return sdk as unknown as Tools
}

async function connect1(): Promise<Tools> {
  const sdk = new Client1(INFO)
  await sdk.connect(new Transport1(new URL(resource), await requestInit()))
  onTestFinished(() => sdk.close())
  return sdk as unknown as Tools
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? ''

async function orderTickets(tools: Tools) {
  const text = textOf(await tools.callTool({ name: 'order_tickets', arguments: { tickets: 4 } }))
  const [, number = ''] = /The number of the order is ([\w-]{36})\. It costs 20 USDC/.exec(text) ?? []
  return () => tools.callTool({ name: 'pay_order', arguments: { number } })
}

/** The link and the letters of a result that a model shows to its user. */
function linkOf(result: unknown) {
  const [, approval_uri = '', letters = ''] = /^Link: (\S+)\nLetters: ([A-Z]{4}-[A-Z]{4})$/m.exec(textOf(result)) ?? []
  return { approval_uri, letters }
}

test('A client of the SDK 2.x with URL elicitation opens the link, the user signs, and the same call pays exactly once', async () => {
  const opened: string[] = []
  const pay = await orderTickets(
    await connect2(async ({ url, message }) => {
      opened.push(url)
      const page = await openApproval(app.walk, { approval_uri: url })
      expect(page.body).toContain('“Pay 20 USDC for 4 tickets”')
      expect(page.body).toContain(/[A-Z]{4}-[A-Z]{4}/.exec(message)?.[0])
      await sign(app.walk, { approval_uri: url })
    }),
  )
  expect(textOf(await pay())).toBe('The order is paid.')
  expect(paid).toEqual([[app.walk.wallet.address, PAYMENT]])
  expect(textOf(await pay())).toBe('The order is paid.')
  expect([opened.length, paid.length]).toEqual([1, 1])
})

test.for([
  ['2.x', () => connect2()],
  ['1.x', connect1],
] as const)(
  'A client of the SDK %s without URL elicitation gets the link and the letters as text, and after the signature one of several calls pays',
  async ([, connect]) => {
    const pay = await orderTickets(await connect())
    const first = await pay()
    const link = linkOf(first)
    expect(first).toMatchObject({ isError: true })
    expect((await openApproval(app.walk, link)).body).toContain(link.letters)
    expect(linkOf(await pay())).toEqual(link)
    expect(paid).toEqual([])
    await sign(app.walk, link)
    const texts = (await Promise.all([pay(), pay(), pay()])).map(textOf)
    expect(texts).toContain('The order is paid.')
    expect(paid).toEqual([[app.walk.wallet.address, PAYMENT]])
  },
)

test('If the user declines, the order is not paid, and a new order asks the user again', async () => {
  const tools = await connect2()
  const pay = await orderTickets(tools)
  await decide(app.walk, linkOf(await pay()), 'decline')
  expect(textOf(await pay())).toBe('The user declined this action.')
  expect(paid).toEqual([])
  const payAgain = await orderTickets(tools)
  await sign(app.walk, linkOf(await payAgain()))
  expect(textOf(await payAgain())).toBe('The order is paid.')
  expect(paid).toHaveLength(1)
})

test('If the user ends the access of the app after the signature, the call is refused, and the order is not paid', async () => {
  const pay = await orderTickets(await connect2())
  await sign(app.walk, linkOf(await pay()))
  await app.walk.postForm('/account/apps/end', { client_id: client.id })
  await expect(pay()).rejects.toMatchObject({ data: { status: 401 } })
  expect(paid).toEqual([])
})
