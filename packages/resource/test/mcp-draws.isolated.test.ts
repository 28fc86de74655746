/** Tools that draw from the limit of the user, with the servers and the unmodified clients of both official SDKs. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createProtectedResource, type ProtectedResource } from '@grantor/resource'
import { type AuthInfo, answerRefusals, type McpNeeds, protectMcp, requireToken } from '@grantor/resource/mcp'
import { getRequestListener } from '@hono/node-server'
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { UnauthorizedError as UnauthorizedError1 } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
// @ts-expect-error -- Express publishes no types, and the adapter needs none
import express from 'express'
import { test as base, describe, expect } from 'vitest'
import { listening } from './listening.ts'
import { CREDENTIALS, problem } from './little-approvals.ts'
import { addDraws, GRANT, type LittleDraws } from './little-draws.ts'
import { clientId, type LittleIssuer, LOST, ok, startLittleIssuer } from './little-issuer.ts'

const INFO = { name: 'test', version: '1.0.0' }
const NEEDS: McpNeeds = {
  hosts: ['127.0.0.1'],
  tools: {
    enhance: {
      scopes: ['enhancement'],
      draw: ({ picture }) => (typeof picture === 'string' ? { key: picture, amount: 4000 } : undefined),
    },
    admin: { scopes: ['admin'] },
  },
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown
type Started = { url: string; resource: ProtectedResource; reasons: string[]; called: string[] }

const test = base.extend<{
  issuer: LittleIssuer
  draws: LittleDraws
  closing: (() => Promise<unknown>)[]
  server2: Started
  start: (version: '1.x' | '2.x') => Promise<Started>
}>({
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  issuer: async ({}, use) => {
    const issuer = await startLittleIssuer()
    const { metadata } = issuer.answers
    issuer.answers.metadata = () =>
      ok({
        ...(metadata().json as object),
        authorization_endpoint: `${issuer.url}/oauth/authorize`,
        token_endpoint: `${issuer.url}/oauth/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    await use(issuer)
    await issuer.close()
  },
  draws: [async ({ issuer }, use) => use(addDraws(issuer)), { auto: true }],
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  closing: async ({}, use) => {
    const closing: (() => Promise<unknown>)[] = []
    await use(closing)
    for (const close of closing.toReversed()) await close()
  },
  server2: async ({ issuer, closing }, use) => use(await startServer(issuer, closing, listener2)),
  start: async ({ issuer, closing }, use) =>
    use((version) => startServer(issuer, closing, version === '1.x' ? listener1 : listener2)),
})

/** The address of the resource is the one that clients call, as they require. */
async function startServer(
  issuer: LittleIssuer,
  closing: (() => Promise<unknown>)[],
  listenerOf: (started: Started) => Listener,
): Promise<Started> {
  const serving: { listener?: Listener } = {}
  const { url, close } = await listening((request, response) => serving.listener?.(request, response))
  closing.push(close)
  const reasons: string[] = []
  const resource = createProtectedResource({
    issuer: issuer.url,
    resource: `${url}/mcp`,
    check: 'local',
    introspection: CREDENTIALS,
    now: () => issuer.clock.now,
    onRefusal: ({ reason }) => reasons.push(reason),
  })
  const started = { url: `${url}/mcp`, resource, reasons, called: [] }
  serving.listener = listenerOf(started)
  return started
}

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] })

const callerOf = (http: { authInfo?: unknown } | undefined) => http?.authInfo as AuthInfo

function listener2({ resource, called }: Started): Listener {
  const inputSchema = fromJsonSchema<{ picture: string }>({ type: 'object', properties: { picture: { type: 'string' } } })
  const handler = createMcpHandler(() => {
    const server = new McpServer(INFO)
    const tool = answerRefusals(resource, server)
    server.registerTool('enhance', { inputSchema }, ({ picture }, { http }) => {
      called.push(picture)
      const { draws } = callerOf(http).extra
      return text(JSON.stringify(draws))
    })
    server.registerTool('admin', {}, () => text('done'))
    // A tool whose price is known only inside.
    server.registerTool(
      'inside',
      { inputSchema },
      tool(async ({ picture }, { http }) => {
        const { left } = await resource.draw(http?.authInfo, { key: picture, amount: 4000 })
        return text(`${left.uses} left`)
      }),
    )
    return server
  })
  // The clients of the SDKs run in this process, and recognise the error of a refused refresh by the `Response` of Node.
  return getRequestListener(protectMcp(resource, handler, NEEDS).fetch, { overrideGlobalObjects: false })
}

type App = RequestListener & { all(path: string, ...handlers: unknown[]): void; use(...handlers: unknown[]): void }

function listener1({ resource, called }: Started): Listener {
  const app = (express as unknown as () => App)()
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const answer = resource.answerMetadata(request)
    if (!answer) return next()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  const parse = (express as { json(): unknown }).json()
  app.all(
    '/mcp',
    parse,
    requireToken(resource, NEEDS),
    async (request: IncomingMessage & { body?: unknown }, response: ServerResponse) => {
      const server = new McpServer1(INFO)
      server.registerTool('enhance', {}, ({ authInfo }) => {
        called.push('picture')
        return text(JSON.stringify((authInfo as unknown as AuthInfo).extra.draws))
      })
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      await server.connect(transport)
      await transport.handleRequest(request, response, request.body)
    },
  )
  return app
}

const tokenFor = (issuer: LittleIssuer, { url }: Started, claims = {}) =>
  issuer.sign({ aud: url, scope: 'enhancement', grant_id: GRANT, exp: 4_000_000_000, ...claims })

const call = (name: string, args: object, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

async function post(issuer: LittleIssuer, started: Started, body: unknown) {
  const answer = await fetch(started.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await tokenFor(issuer, started)}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  })
  return { status: answer.status, challenge: answer.headers.get('www-authenticate'), body: await answer.text() }
}

const USED_UP = problem(403, 'uses_exceeded', { scope: 'enhancement' })

describe('A tool whose needs have a draw', () => {
  for (const version of ['2.x', '1.x'] as const) {
    test(`The draw comes before the tool, which reads what was drawn (${version})`, async ({ issuer, draws, start }) => {
      const started = await start(version)
      const { status, body } = await post(issuer, started, call('enhance', { picture: 'picture-7' }))
      expect(status).toBe(200)
      const written = JSON.stringify([{ grantId: GRANT, draw: 1, left: { uses: 1, amount: 6000 }, until: draws.until }])
      expect(body).toContain(JSON.stringify(written).slice(1, -1))
      expect(draws.asked).toMatchObject([{ key: 'picture-7', amount: '4000' }])
    })

    test(`If the limit is used up, the call gets 403 insufficient_scope and the scope, and the tool does not run (${version})`, async ({
      issuer,
      draws,
      start,
    }) => {
      const started = await start(version)
      draws.next.draw.push(USED_UP)
      const { status, challenge, body } = await post(issuer, started, call('enhance', { picture: 'picture-7' }))
      expect([status, JSON.parse(body)]).toMatchObject([403, { error: 'insufficient_scope' }])
      expect(challenge).toMatch(/^Bearer .*error="insufficient_scope".*scope="enhancement".*resource_metadata="/)
      expect([started.called, started.reasons]).toEqual([[], ['uses_exceeded']])
    })

    test(`If the authorization server cannot count the call, the call gets 503, and the tool does not run (${version})`, async ({
      issuer,
      draws,
      start,
    }) => {
      const started = await start(version)
      draws.next.draw.push(LOST, LOST)
      expect((await post(issuer, started, call('enhance', { picture: 'picture-7' }))).status).toBe(503)
      expect(started.called).toEqual([])
    })

    test(`Arguments for which the tool names no draw get 400, and nothing is drawn (${version})`, async ({
      issuer,
      draws,
      start,
    }) => {
      const started = await start(version)
      for (const args of [{}, { picture: 7 }, []]) {
        const { status, body } = await post(issuer, started, call('enhance', args, 5))
        expect([status, JSON.parse(body)]).toMatchObject([400, { jsonrpc: '2.0', error: { code: -32_602 }, id: 5 }])
      }
      expect([draws.asked, started.called]).toEqual([[], []])
    })
  }

  test('Nothing is drawn for a batch in which another tool is refused', async ({ issuer, draws, server2 }) => {
    const batch = [call('enhance', { picture: 'picture-7' }), call('admin', {}, 2)]
    expect((await post(issuer, server2, batch)).status).toBe(403)
    expect(draws.asked).toEqual([])
  })
})

describe('A tool that draws in its handler', () => {
  test('If the limit is used up, the result has plain words, and the log gets the reason', async ({
    issuer,
    draws,
    closing,
    server2,
  }) => {
    const client = new Client(INFO)
    const requestInit = { headers: { authorization: `Bearer ${await tokenFor(issuer, server2)}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(server2.url), { requestInit }))
    closing.push(() => client.close())
    const inside = () => client.callTool({ name: 'inside', arguments: { picture: `picture-${draws.byKey.size}` } })
    expect(await inside()).toMatchObject(text('1 left'))
    draws.next.draw.push(USED_UP)
    const words = 'The user signed a limit for this scope, and no use is left.'
    expect(await inside()).toMatchObject({ isError: true, ...text(words) })
    draws.next.draw.push(problem(403, 'no_limit'))
    const fault = 'This API cannot count its calls, because of a fault in its settings or its program.'
    expect(await inside()).toMatchObject({ isError: true, ...text(fault) })
    expect(server2.reasons).toEqual(['uses_exceeded', 'draw_no_limit'])
  })
})

type Tokens = { access_token: string; token_type: string; scope: string; refresh_token?: string }

/** The state of an ordinary client: the tokens, and the address to which it sends the user. `forgets`: whether the client has the optional function that forgets tokens. */
function providerWith(tokens: Tokens, forgets: boolean) {
  const sentTo: URL[] = []
  let current: Tokens | undefined = tokens
  let verifier = ''
  const provider = {
    redirectUrl: 'http://127.0.0.1:9/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1:9/callback'], token_endpoint_auth_method: 'none' },
    clientInformation: () => ({ client_id: clientId }),
    tokens: () => current,
    saveTokens: (saved: Tokens) => void (current = saved),
    redirectToAuthorization: (url: URL) => void sentTo.push(url),
    saveCodeVerifier: (saved: string) => void (verifier = saved),
    codeVerifier: () => verifier,
    ...(forgets ? { invalidateCredentials: () => void (current = undefined) } : {}),
  }
  return { provider: provider as unknown as OAuthClientProvider, sentTo }
}

describe('An unmodified client whose limit is used up', () => {
  const clients = [
    ['2.x', Client, StreamableHTTPClientTransport, UnauthorizedError],
    ['1.x', Client1, StreamableHTTPClientTransport1, UnauthorizedError1],
  ] as const

  for (const [version, AnyClient, AnyTransport, Refused] of clients) {
    async function connect(
      issuer: LittleIssuer,
      started: Started,
      closing: (() => Promise<unknown>)[],
      { refreshToken, forgets = true }: { refreshToken?: string; forgets?: boolean } = {},
    ) {
      const issue = async (): Promise<Tokens> => ({
        access_token: await tokenFor(issuer, started),
        token_type: 'Bearer',
        scope: 'enhancement',
        ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      })
      const grantTypes: (string | null)[] = []
      issuer.answerToken = async ({ form }) => {
        grantTypes.push(form.get('grant_type'))
        return ok({ ...(await issue()), expires_in: 600 })
      }
      const { provider, sentTo } = providerWith(await issue(), forgets)
      const client = new AnyClient(INFO) as Client
      const transport = new AnyTransport(new URL(started.url), { authProvider: provider as never })
      await client.connect(transport)
      closing.push(() => client.close())
      return { client, transport, sentTo, grantTypes }
    }

    test(`The client (${version}) sends its user to the authorization server with the scope of the limit, and its call passes with the new token`, async ({
      issuer,
      draws,
      closing,
      server2,
    }) => {
      const { client, transport, sentTo, grantTypes } = await connect(issuer, server2, closing)
      const enhance = () => client.callTool({ name: 'enhance', arguments: { picture: 'picture-7' } })
      draws.left.uses = 0
      await expect(enhance()).rejects.toBeInstanceOf(Refused)
      expect(sentTo.map((url) => [url.pathname, url.searchParams.get('scope'), url.searchParams.get('resource')])).toEqual([
        ['/oauth/authorize', 'enhancement', server2.url],
      ])
      // The user signs a new limit.
      draws.left.uses = 2
      await transport.finishAuth('code')
      expect(JSON.stringify(await enhance())).toContain('\\"uses\\":1')
      expect([grantTypes, server2.called]).toEqual([['authorization_code'], ['picture-7']])
    })

    // The token has the scope already, so both SDKs refresh the token. The new token has the same grant, and so the same limit.
    test(`A client (${version}) with a refresh token only refreshes, and its call fails with 403 without a question to its user`, async ({
      issuer,
      draws,
      closing,
      server2,
    }) => {
      const { client, sentTo, grantTypes } = await connect(issuer, server2, closing, { refreshToken: 'refresh' })
      draws.left.uses = 0
      const enhance = () => client.callTool({ name: 'enhance', arguments: { picture: 'picture-7' } })
      await expect(enhance()).rejects.toThrow(/403/)
      expect([grantTypes.slice(0, 1), sentTo, server2.called]).toEqual([['refresh_token'], [], []])
    })

    test(`A client (${version}) that can forget its tokens, and whose refresh is refused with invalid_grant, asks its user for the scope of the limit`, async ({
      issuer,
      draws,
      closing,
      server2,
    }) => {
      const { client, sentTo } = await connect(issuer, server2, closing, { refreshToken: 'refresh' })
      draws.left.uses = 0
      issuer.answerToken = async () => problem(400, 'invalid_grant')
      await expect(client.callTool({ name: 'enhance', arguments: { picture: 'picture-7' } })).rejects.toBeInstanceOf(Refused)
      expect(sentTo.map((url) => url.searchParams.get('scope'))).toEqual(['enhancement'])
    })

    test(`A client (${version}) that cannot forget its tokens does not ask its user if the refresh is refused`, async ({
      issuer,
      draws,
      closing,
      server2,
    }) => {
      const { client, sentTo } = await connect(issuer, server2, closing, { refreshToken: 'refresh', forgets: false })
      draws.left.uses = 0
      issuer.answerToken = async () => problem(400, 'invalid_grant')
      await expect(client.callTool({ name: 'enhance', arguments: { picture: 'picture-7' } })).rejects.toThrow('A sentence.')
      expect([sentTo, server2.called]).toEqual([[], []])
    })
  }
})
