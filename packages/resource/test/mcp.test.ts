/** `@grantor/resource/mcp` with the servers of the official SDK: 2.x on the Fetch standard, and 1.x on Express. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createProtectedResource, type ProtectedResource } from '@grantor/resource'
import {
  type AuthInfo,
  accessTokenOf,
  createTokenVerifier,
  type McpNeeds,
  protectMcp,
  refuseForeignCallers,
  requireToken,
  serveMetadata,
} from '@grantor/resource/mcp'
import { getRequestListener } from '@hono/node-server'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
// @ts-expect-error -- Express publishes no types, and the adapter needs none
import express from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, send } from '../../server/test/support/send.ts'
import { listening } from './listening.ts'
import { clientId, type LittleIssuer, startLittleIssuer, wallet } from './little-issuer.ts'

const RESOURCE = 'https://api.example.com/mcp'
const METADATA = '/.well-known/oauth-protected-resource/mcp'
const NEEDS: McpNeeds = {
  hosts: ['127.0.0.1'],
  origins: ['https://inspector.example'],
  scopes: ['read'],
  tools: { write: { scopes: ['write'] }, pay: { maxAge: 60 }, both: { scopes: ['write', 'admin'] } },
}
const TOOLS = ['whoami', 'write', 'pay', 'both']

let issuer: LittleIssuer
let resource: ProtectedResource
let reasons: string[]
beforeAll(async () => {
  issuer = await startLittleIssuer()
  reasons = []
  resource = createProtectedResource({
    issuer: issuer.url,
    resource: RESOURCE,
    // The transports of 1.x compare `expiresAt` with the machine's clock.
    now: () => issuer.clock.now,
    onRefusal: ({ reason }) => reasons.push(reason),
  })
})
afterAll(() => issuer.close())

const described = (authInfo: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(authInfo) }] })

function startModern() {
  const handler = createMcpHandler(({ authInfo }) => {
    const server = new McpServer({ name: 'test', version: '1.0.0' })
    for (const name of TOOLS) server.registerTool(name, {}, () => described(authInfo))
    return server
  })
  const listener = getRequestListener(protectMcp(resource, handler, NEEDS).fetch)
  return listening(listener)
}

type App = RequestListener & { use(...handlers: unknown[]): void; all(path: string, ...handlers: unknown[]): void }
type Parsed = IncomingMessage & { body?: unknown }

function startLegacy(guard: unknown = requireToken(resource, NEEDS), parse: unknown = (express as { json(): unknown }).json()) {
  const app = (express as () => App)()
  app.use(serveMetadata(resource))
  app.use(parse)
  app.all('/mcp', guard, async (request: Parsed, response: ServerResponse) => {
    const server = new McpServer1({ name: 'test', version: '1.0.0' })
    for (const name of TOOLS) server.registerTool(name, {}, ({ authInfo }) => described(authInfo))
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    await transport.handleRequest(request, response, request.body)
  })
  return listening(app)
}

const called = (name: unknown, id = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } })

async function post(url: string, body: unknown, claims: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const token = await issuer.sign({ aud: RESOURCE, scope: 'read', ...claims })
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  return { token, answer, text, challenge: answer.headers.get('www-authenticate') ?? '' }
}

const FOREIGN = { error_description: 'This server does not accept calls from this page or under this host name.' }

/** A call of a tool with a valid token. `fetch` cannot send another `Host`. */
async function callFrom(url: string, headers: Record<string, string>, method = 'POST'): Promise<Answer> {
  const token = await issuer.sign({ aud: RESOURCE, scope: 'read' })
  const accept = 'application/json, text/event-stream'
  const own = { host: new URL(url).host, authorization: `Bearer ${token}`, 'content-type': 'application/json', accept }
  const body = method === 'POST' ? { body: JSON.stringify(called('whoami')) } : {}
  return send(url, { method, path: '/mcp', headers: { ...own, ...headers }, ...body })
}

/** The result of a tool, out of JSON or of a stream of events. */
function resultOf(text: string): { content?: { text: string }[] } {
  const json = text.startsWith('{') ? text : (/^data: (\{.*\})$/m.exec(text)?.[1] ?? '{}')
  return (JSON.parse(json) as { result?: { content?: { text: string }[] } }).result ?? {}
}

describe.each([
  ['2.x', startModern],
  ['1.x', startLegacy],
] as const)('A server of the SDK %s', (_version, start) => {
  let url: string
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ url, close } = await start())
  })
  afterAll(() => close())

  test('An MCP server serves the metadata document at the path of RFC 9728 §3.1', async () => {
    const answer = await fetch(`${url}${METADATA}`)
    expect([answer.status, await answer.json()]).toEqual([200, resource.metadata])
  })

  test.each<[string, Record<string, string>, string]>([
    ['the origin of another page', { origin: 'https://evil.example' }, 'foreign_origin'],
    ['an origin that begins as the origin of the resource', { origin: 'https://api.example.com.evil.example' }, 'foreign_origin'],
    ['the origin of the resource with another scheme', { origin: 'http://api.example.com' }, 'foreign_origin'],
    ['the origin of the resource with another port', { origin: 'https://api.example.com:8443' }, 'foreign_origin'],
    ['the origin null', { origin: 'null' }, 'foreign_origin'],
    ['an empty origin', { origin: '' }, 'foreign_origin'],
    ['a host name that points at this server', { host: 'evil.example' }, 'foreign_host'],
    ['that host name and its origin', { host: 'evil.example:4004', origin: 'http://evil.example:4004' }, 'foreign_host'],
    ['another address of this machine', { host: '127.0.0.2' }, 'foreign_host'],
  ])(
    'An MCP server refuses a call with %s with 403 and without a challenge, although its token is valid (MCP, Security Warning)',
    async (_, headers, reason) => {
      reasons.length = 0
      for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
        const answer = await callFrom(url, headers, method)
        expect([answer.status, answer.headers['www-authenticate'], answer.json()]).toEqual([403, undefined, FOREIGN])
      }
      expect(new Set(reasons)).toEqual(new Set([reason]))
    },
  )

  test.each<[string, Record<string, string>]>([
    ['without an origin', {}],
    ['from the origin of the resource', { origin: 'https://api.example.com' }],
    ['from an origin of the list', { origin: 'https://inspector.example' }],
    ['to the host of the resource', { host: 'api.example.com' }],
    ['to the host of the resource with a port', { host: 'API.example.com:443' }],
  ])('An MCP server accepts a call %s', async (_, headers) => {
    expect((await callFrom(url, headers)).status).toBe(200)
  })

  test('An MCP server serves the metadata document to every origin (RFC 9728 §3.1)', async () => {
    const answer = await send(url, { path: METADATA, headers: { origin: 'https://evil.example', host: 'evil.example' } })
    expect(answer.status).toBe(200)
  })

  test('A call of an MCP server without a token gets 401 and the challenge of RFC 9728 §5.1', async () => {
    const answer = await fetch(`${url}/mcp`, { method: 'POST', body: '{}' })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="${RESOURCE}", scope="read", resource_metadata="https://api.example.com${METADATA}"`,
    ])
  })

  test('An MCP tool receives the wallet, the client, the scopes, the resource and the token of the call', async () => {
    const { token, text } = await post(url, called('whoami'))
    const authInfo = JSON.parse(resultOf(text).content?.[0]?.text ?? '{}') as AuthInfo
    expect(authInfo).toMatchObject({ token, clientId, scopes: ['read'], resource: RESOURCE, extra: { wallet } })
    expect(authInfo.expiresAt).toBe(issuer.clock.now + 600)
  })

  test('A call of an MCP tool without the scope of the tool gets 403 and the scopes that the call needs (RFC 6750 §3.1)', async () => {
    const { answer, challenge } = await post(url, called('both'))
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([403, 'no-store'])
    expect(challenge).toMatch(/error="insufficient_scope".*scope="write admin"/)
    expect((await post(url, called('both'), { scope: 'read write admin' })).answer.status).toBe(200)
  })

  test('A call of an MCP tool after an old sign-in gets 401 and max_age (RFC 9470 §3)', async () => {
    const { answer, challenge } = await post(url, called('pay'), { auth_time: issuer.clock.now - 61 })
    expect([answer.status, challenge]).toEqual([401, expect.stringContaining('max_age="60"')])
    expect((await post(url, called('pay'), { auth_time: issuer.clock.now - 60 })).answer.status).toBe(200)
  })

  test('A batch of MCP messages needs the scopes of each of its messages', async () => {
    expect((await post(url, [called('whoami'), called('write', 2)])).answer.status).toBe(403)
    expect((await post(url, [called('whoami'), called('whoami', 2)])).answer.status).not.toBe(403)
  })

  test('If an MCP message names two tools, the tool that is checked is the one that is executed', async () => {
    const twice =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"},"params":{"name":"write","arguments":{}}}'
    expect((await post(url, twice)).answer.status).toBe(403)
  })

  test.each(['constructor', '__proto__', 'toString', 7, null, ['write'], { name: 'write' }])(
    'An MCP tool of the name %j needs no scope of its own',
    async (name) => {
      const { answer } = await post(url, called(name))
      expect(answer.status).toBeLessThan(500)
      expect(answer.status).not.toBe(403)
    },
  )

  test.each(['null', '7', '"tools/call"', '[null]', '{"method":"tools/call"}', '{"method":"tools/call","params":null}', '[]'])(
    'An MCP message that is not a call, %s, is passed to the SDK',
    async (body) => {
      const { answer } = await post(url, body)
      expect(answer.status).toBeLessThan(500)
      expect([401, 403]).not.toContain(answer.status)
    },
  )

  test('An MCP message that is not JSON gets 400', async () => {
    expect((await post(url, '{"jsonrpc":')).answer.status).toBe(400)
  })

  test('An MCP message of another media type is refused, and its tool is not called', async () => {
    const headers = { 'content-type': 'text/plain; a=application/json' }
    const { answer, text } = await post(url, called('write'), {}, headers)
    expect([403, 415]).toContain(answer.status)
    expect(text).not.toContain(wallet)
  })
})

describe('protectMcp', () => {
  test('protectMcp serves the MCP server at the path of its resource only', async () => {
    const { url, close } = await startModern()
    for (const path of ['/', '/mcp/', '/mcp2', '/.well-known/oauth-authorization-server'])
      expect((await fetch(`${url}${path}`)).status).toBe(404)
    expect((await fetch(`${url}/mcp?a=b`)).status).toBe(401)
    await close()
  })

  test('protectMcp refuses a message of more than 4 MiB with 413', async () => {
    const { url, close } = await startModern()
    const { answer } = await post(url, `"${'a'.repeat(4 * 1024 * 1024)}"`)
    expect(answer.status).toBe(413)
    await close()
  })

  test('protectMcp refuses a call without a token before it reads the body', async () => {
    const { url, close } = await startModern()
    const status = await new Promise((resolve, reject) => {
      const sending = httpRequest(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' } })
      sending.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
      sending.write('{')
    })
    expect(status).toBe(401)
    await close()
  })

  test('A call of an MCP server whose proof of the bound key is missing gets both challenges (RFC 9449 §7.2)', async () => {
    const bound = createProtectedResource({ issuer: issuer.url, resource: RESOURCE, dpop: { origin: 'https://api.example.com' } })
    const handler = { fetch: async () => new Response('reached') }
    const answer = await protectMcp(bound, handler).fetch(new Request(RESOURCE, { method: 'POST' }))
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer .*, DPoP /)])
  })
})

describe('the check of Origin and Host', () => {
  test('The check of Host uses the address of a request of the Fetch standard that has no header Host', async () => {
    const guarded = protectMcp(resource, { fetch: async () => new Response('reached') })
    expect((await guarded.fetch(new Request(RESOURCE))).status).toBe(401)
    expect((await guarded.fetch(new Request(RESOURCE.replace('api.example.com', 'evil.example')))).status).toBe(403)
  })

  test('The check of Host reads the host name of an HTTP/2 request, which has no header Host', async () => {
    const check = refuseForeignCallers(resource)
    const server = createHttp2Server((request, response) =>
      check(request as unknown as IncomingMessage, response as unknown as ServerResponse, () => response.end('reached')),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const connection = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const statusFor = async (authority: string): Promise<unknown> => {
      const stream = connection.request({ ':path': '/mcp', ':authority': authority })
      const [{ ':status': status }] = (await once(stream, 'response')) as [Record<string, unknown>]
      return status
    }
    expect([await statusFor('evil.example'), await statusFor('api.example.com')]).toEqual([403, 200])
    connection.close()
    server.close()
  })

  test.each<McpNeeds>([
    { origins: ['https://app.example.com/'] },
    { origins: ['app.example.com'] },
    { origins: ['*'] },
    { hosts: ['api.example.com:443'] },
    { hosts: ['API.example.com'] },
    { hosts: [''] },
  ])('protectMcp and requireToken throw if the setting %j cannot match anything', (needs) => {
    expect(() => protectMcp(resource, { fetch: async () => new Response() }, needs)).toThrow(TypeError)
    expect(() => requireToken(resource, needs)).toThrow(TypeError)
  })
})

describe('the middleware for 1.x', () => {
  test('The middleware for the MCP SDK 1.x responds with 415 if nothing has parsed the body: the transport would parse a body that was not checked', async () => {
    const pass = (_request: unknown, _response: unknown, next: () => void) => next()
    const asExpress4 = (request: Parsed, _response: unknown, next: () => void) => {
      request.body = {}
      next()
    }
    for (const parse of [pass, asExpress4]) {
      const { url, close } = await startLegacy(requireToken(resource, NEEDS), parse)
      const { answer, text } = await post(url, called('write'))
      expect([answer.status, text]).toEqual([415, 'The body must be JSON.'])
      await close()
    }
  })
})

describe('the verifier for requireBearerAuth of the SDK 1.x', () => {
  const guard = () => {
    const verifier = createTokenVerifier(resource, ({ description }) => new InvalidTokenError(description))
    return requireBearerAuth({ verifier, requiredScopes: ['read'], resourceMetadataUrl: resource.metadataUrl })
  }

  test('The verifier for requireBearerAuth accepts a valid token, and the tool reads the caller', async () => {
    const { url, close } = await startLegacy(guard())
    const { text } = await post(url, called('whoami'))
    expect(JSON.parse(resultOf(text).content?.[0]?.text ?? '{}')).toMatchObject({ clientId, extra: { wallet } })
    await close()
  })

  test('requireBearerAuth refuses a call from a foreign page if refuseForeignCallers runs before it', async () => {
    const [first, second] = [refuseForeignCallers(resource, { hosts: ['127.0.0.1'] }), guard()]
    const { url, close } = await startLegacy([first, second])
    expect((await callFrom(url, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await callFrom(url, { host: 'evil.example' })).status).toBe(403)
    expect((await callFrom(url, {})).status).toBe(200)
    await close()
  })

  test('The verifier for requireBearerAuth refuses a token of another resource with the SDK’s own 401, and the log gets the reason', async () => {
    const { url, close } = await startLegacy(guard())
    const { answer, challenge } = await post(url, called('whoami'), { aud: 'https://api.example.com/other' })
    expect([answer.status, challenge]).toEqual([401, expect.stringContaining(`resource_metadata="${resource.metadataUrl}"`)])
    expect(reasons.at(-1)).toBe('claim_aud')
    await close()
  })

  test('The verifier for requireBearerAuth does not report a token as bad if it could not be checked', async () => {
    const down = createProtectedResource({ issuer: 'http://127.0.0.1:1', resource: RESOURCE })
    const { verifyAccessToken } = createTokenVerifier(down, () => new InvalidTokenError('bad'))
    await expect(verifyAccessToken(await issuer.sign({ aud: RESOURCE }))).rejects.toMatchObject({ status: 503 })
  })
})

test('accessTokenOf returns the checked token of a caller, and throws for a caller that was not checked', async () => {
  const { verifyAccessToken } = createTokenVerifier(resource, ({ description }) => new InvalidTokenError(description))
  const authInfo = await verifyAccessToken(await issuer.sign({ aud: RESOURCE, scope: 'read' }))
  expect(accessTokenOf(authInfo)).toBe(authInfo.extra.accessToken)
  for (const unchecked of [{ ...authInfo }, undefined]) expect(() => accessTokenOf(unchecked)).toThrow(/no checked access token/)
})
