/** A tool that needs the signature of the user, with the servers and the clients of both official SDKs. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createProtectedResource, type ProtectedResource } from '@grantor/resource'
import { type AuthInfo, answerRefusals, protectMcp, requireToken } from '@grantor/resource/mcp'
import { getRequestListener } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
// @ts-expect-error -- Express publishes no types, and the adapter needs none
import express from 'express'
import { test as base, describe, expect } from 'vitest'
import { listening } from './listening.ts'
import { addApprovals, CREDENTIALS, type LittleApprovals } from './little-approvals.ts'
import { type LittleIssuer, LOST, startLittleIssuer, wallet } from './little-issuer.ts'

const RESOURCE = 'https://api.example.com/mcp'
const NEEDS = { hosts: ['127.0.0.1'], scopes: ['pay'] }
const INFO = { name: 'test', version: '1.0.0' }
const SIGNED = { content: [{ type: 'text', text: `paid by ${wallet}` }] }

const test = base.extend<{
  issuer: LittleIssuer
  approvals: LittleApprovals
  reasons: string[]
  resource: ProtectedResource
  /** What closes at the end of the test, the last first. */
  closing: (() => Promise<unknown>)[]
}>({
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  issuer: async ({}, use) => {
    const issuer = await startLittleIssuer()
    await use(issuer)
    await issuer.close()
  },
  approvals: [async ({ issuer }, use) => use(addApprovals(issuer)), { auto: true }],
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  reasons: async ({}, use) => use([]),
  resource: async ({ issuer, reasons }, use) =>
    use(
      createProtectedResource({
        issuer: issuer.url,
        resource: RESOURCE,
        check: 'local',
        introspection: CREDENTIALS,
        now: () => issuer.clock.now,
        onRefusal: ({ reason }) => reasons.push(reason),
      }),
    ),
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  closing: async ({}, use) => {
    const closing: (() => Promise<unknown>)[] = []
    await use(closing)
    for (const close of closing.toReversed()) await close()
  },
})

type Started = { issuer: LittleIssuer; resource: ProtectedResource; closing: (() => Promise<unknown>)[] }

/** What the tool of each server does. */
async function pay(resource: ProtectedResource, authInfo: AuthInfo, order: string) {
  const { receipt } = await resource.approve(authInfo, { key: order, summary: 'Pay 20 USDC to Alice', action: { order } })
  return { content: [{ type: 'text' as const, text: `paid by ${receipt.address}` }] }
}

type App = RequestListener & { all(path: string, ...handlers: unknown[]): void }
type Parsed = IncomingMessage & { body?: unknown }

/** A server of 1.x. With a session, the server has the capabilities of the client. */
async function startServer1({ resource, closing }: Started, { session, elicits }: { session: boolean; elicits: boolean }) {
  function build() {
    const server = new McpServer1(INFO)
    const tool = answerRefusals(resource, server, elicits ? UrlElicitationRequiredError : undefined)
    server.registerTool(
      'pay',
      {},
      tool(({ authInfo }) => pay(resource, authInfo as unknown as AuthInfo, 'order-7')),
    )
    return server
  }
  async function connect(options: { sessionIdGenerator?: () => string }) {
    const transport = new StreamableHTTPServerTransport(options)
    await build().connect(transport)
    return transport
  }
  const kept = session ? await connect({ sessionIdGenerator: randomUUID }) : undefined
  const app = (express as unknown as () => App)()
  const parse = (express as { json(): unknown }).json()
  app.all('/mcp', parse, requireToken(resource, NEEDS), async (request: Parsed, response: ServerResponse) => {
    const transport = kept ?? (await connect({}))
    await transport.handleRequest(request, response, request.body)
  })
  const { url, close } = await listening(app)
  closing.push(close)
  return new URL(`${url}/mcp`)
}

const callerOf = ({ http }: { http?: { authInfo?: unknown } }) => http?.authInfo as AuthInfo

function buildServer2(resource: ProtectedResource): McpServer {
  const server = new McpServer(INFO)
  const tool = answerRefusals(resource, server)
  const inputSchema = fromJsonSchema<{ order: string }>({ type: 'object', properties: { order: { type: 'string' } } })
  server.registerTool(
    'pay',
    { inputSchema },
    tool(({ order }, context) => pay(resource, callerOf(context), order)),
  )
  server.registerTool(
    'admin',
    {},
    tool((context) => {
      resource.require(callerOf(context).extra.accessToken, { scopes: ['admin'] })
      return { content: [] }
    }),
  )
  server.registerTool(
    'broken',
    {},
    tool(() => {
      throw new Error('a fault of the tool')
    }),
  )
  return server
}

async function startServer2({ resource, closing }: Started, handler?: Parameters<typeof protectMcp>[1]) {
  const { fetch } = protectMcp(resource, handler ?? createMcpHandler(() => buildServer2(resource)), NEEDS)
  const { url, close } = await listening(getRequestListener(fetch))
  closing.push(close)
  return new URL(`${url}/mcp`)
}

const URL_ELICITATION = { capabilities: { elicitation: { url: {} } } }

async function requestInit({ issuer }: Started) {
  return { requestInit: { headers: { authorization: `Bearer ${await issuer.sign({ aud: RESOURCE, scope: 'pay' })}` } } }
}

async function connectClient1(started: Started, url: URL, options = {}): Promise<Client1> {
  const client = new Client1(INFO, options)
  await client.connect(new StreamableHTTPClientTransport1(url, await requestInit(started)))
  started.closing.push(() => client.close())
  return client
}

type ElicitAction = 'accept' | 'decline'

/** A client of 2.x. `elicit` is what the user does with a link; without `elicit`, the client does not offer to open links. */
async function connectClient2(
  started: Started,
  url: URL,
  mode: 'auto' | 'legacy',
  elicit?: (params: object) => ElicitAction,
): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode }, ...(elicit ? URL_ELICITATION : {}) })
  if (elicit) client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: elicit(params) }))
  await client.connect(new StreamableHTTPClientTransport(url, await requestInit(started)))
  started.closing.push(() => client.close())
  return client
}

const PAY = { name: 'pay', arguments: { order: 'order-7' } }

function asText(issuer: LittleIssuer, approvals: LittleApprovals) {
  const text = [
    'The user has not signed this action yet. Open the link, compare the letters, and repeat the call after the signature.',
    `Link: ${issuer.url}/approve/${approvals.byKey.get('order-7')?.id}`,
    'Letters: WDJB-MJHT',
    'The link works for 600 seconds.',
  ]
  return { isError: true, content: [{ type: 'text', text: text.join('\n') }] }
}

describe('A server of the SDK 1.x', () => {
  test('If the client offers URL elicitation, the call gets the error -32042 with the link, and after the signature the same call goes on', async ({
    issuer,
    approvals,
    reasons,
    resource,
    closing,
  }) => {
    const started = { issuer, resource, closing }
    const client = await connectClient1(started, await startServer1(started, { session: true, elicits: true }), URL_ELICITATION)
    const error: unknown = await client.callTool(PAY).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UrlElicitationRequiredError)
    expect(error).toMatchObject({
      code: -32_042,
      elicitations: [
        {
          mode: 'url',
          elicitationId: expect.any(String),
          url: `${issuer.url}/approve/${approvals.byKey.get('order-7')?.id}`,
          message: 'Sign this action with your wallet. The page shows the letters WDJB-MJHT.',
        },
      ],
    })
    expect(reasons).toEqual(['approval_waiting'])
    approvals.settle('order-7', 'signed')
    expect(await client.callTool(PAY)).toMatchObject(SIGNED)
  })

  test.for([
    ['the client does not offer URL elicitation', { session: true, elicits: true }, {}],
    ['the server has no session and therefore no capabilities of the client', { session: false, elicits: true }, URL_ELICITATION],
    ['the server has no class for the error -32042', { session: true, elicits: false }, URL_ELICITATION],
  ] as const)(
    'If %s, the result has the link and the letters as text, and after the signature the same call goes on',
    async ([, server, capabilities], { issuer, approvals, resource, closing }) => {
      const started = { issuer, resource, closing }
      const client = await connectClient1(started, await startServer1(started, server), capabilities)
      expect(await client.callTool(PAY)).toEqual(asText(issuer, approvals))
      approvals.settle('order-7', 'signed')
      expect(await client.callTool(PAY)).toMatchObject(SIGNED)
    },
  )
})

describe('A server of the SDK 2.x', () => {
  test('If the client offers URL elicitation, its user signs on the page, and the call goes on', async ({
    issuer,
    approvals,
    resource,
    closing,
  }) => {
    const started = { issuer, resource, closing }
    const links: object[] = []
    const client = await connectClient2(started, await startServer2(started), 'auto', (params) => {
      links.push(params)
      approvals.settle('order-7', 'signed')
      return 'accept'
    })
    expect(await client.callTool(PAY)).toMatchObject(SIGNED)
    expect(links).toMatchObject([
      {
        mode: 'url',
        url: `${issuer.url}/approve/${approvals.byKey.get('order-7')?.id}`,
        message: 'Sign this action with your wallet. The page shows the letters WDJB-MJHT.',
      },
    ])
  })

  test('If a client of MCP 2025-11-25 with a session offers URL elicitation, it receives elicitation/create, and the call goes on', async ({
    issuer,
    approvals,
    resource,
    closing,
  }) => {
    const started = { issuer, resource, closing }
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID })
    await buildServer2(resource).connect(transport)
    const url = await startServer2(started, { fetch: (request, options) => transport.handleRequest(request, options) })
    const links: object[] = []
    const client = await connectClient2(started, url, 'legacy', (params) => {
      links.push(params)
      approvals.settle('order-7', 'signed')
      return 'accept'
    })
    expect(await client.callTool(PAY)).toMatchObject(SIGNED)
    expect(links).toMatchObject([{ mode: 'url', url: `${issuer.url}/approve/${approvals.byKey.get('order-7')?.id}` }])
  })

  test.for(['accept', 'decline'] as const)(
    'If the user answers the elicitation with %s and has not signed, the user is not asked again, and the result has the link as text',
    async (action, { issuer, approvals, resource, closing }) => {
      const started = { issuer, resource, closing }
      let links = 0
      const client = await connectClient2(started, await startServer2(started), 'auto', () => {
        links += 1
        return action
      })
      expect(await client.callTool(PAY)).toMatchObject(asText(issuer, approvals))
      expect(links).toBe(1)
    },
  )

  test.for(['auto', 'legacy'] as const)(
    'If the client (version %s) does not offer URL elicitation, the result has the link and the letters as text, and after the signature the same call goes on',
    async (mode, { issuer, approvals, resource, closing }) => {
      const started = { issuer, resource, closing }
      const client = await connectClient2(started, await startServer2(started), mode)
      expect(await client.callTool(PAY)).toMatchObject(asText(issuer, approvals))
      approvals.settle('order-7', 'signed')
      expect(await client.callTool(PAY)).toMatchObject(SIGNED)
    },
  )

  test('A client of MCP 2025-11-25 that offers URL elicitation without a session gets the link as text', async ({
    issuer,
    approvals,
    resource,
    closing,
  }) => {
    const started = { issuer, resource, closing }
    const client = await connectClient2(started, await startServer2(started), 'legacy', () => 'accept')
    expect(await client.callTool(PAY)).toMatchObject(asText(issuer, approvals))
  })

  test('An action that the user declined, or whose state is not known, gets a result in plain words', async ({
    issuer,
    approvals,
    resource,
    closing,
  }) => {
    const started = { issuer, resource, closing }
    const client = await connectClient2(started, await startServer2(started), 'auto')
    approvals.next.ask.push(LOST)
    const unknown = { type: 'text', text: 'It is not known whether the user signed this action. Try again shortly.' }
    expect(await client.callTool(PAY)).toMatchObject({ isError: true, content: [unknown] })
    await client.callTool(PAY)
    approvals.settle('order-7', 'declined')
    const declined = { type: 'text', text: 'The user declined this action.' }
    expect(await client.callTool(PAY)).toMatchObject({ isError: true, content: [declined] })
  })

  test('A refusal of resource.require in a tool gets a result in plain words, and the log gets the reason', async ({
    issuer,
    reasons,
    resource,
    closing,
  }) => {
    const started = { issuer, resource, closing }
    const client = await connectClient2(started, await startServer2(started), 'auto')
    const text = 'The access token does not allow this call.'
    expect(await client.callTool({ name: 'admin' })).toMatchObject({ isError: true, content: [{ type: 'text', text }] })
    expect(reasons).toEqual(['scope_missing'])
  })

  test('Another error of a tool is left to the SDK', async ({ issuer, reasons, resource, closing }) => {
    const started = { issuer, resource, closing }
    const client = await connectClient2(started, await startServer2(started), 'auto')
    expect(await client.callTool({ name: 'broken' })).toMatchObject({ isError: true, content: [{ text: 'a fault of the tool' }] })
    expect(reasons).toEqual([])
  })
})
