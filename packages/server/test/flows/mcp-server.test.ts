/** The example MCP server, protected by a Grantor, and the clients of the official SDK, 1.x and 2.x, which nobody here wrote. */
import { once } from 'node:events'
import * as modern from '@modelcontextprotocol/client'
import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createNotesServer, NOTES_SCOPES } from '../../demo/mcp-server/index.ts'
import { freePorts } from '../support/free-ports.ts'
import { userOf } from '../support/mcp-client.ts'
import { send } from '../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

const REDIRECT_URI = 'http://127.0.0.1:7777/callback'
const WRITE_NOTE = { name: 'write_note', arguments: { note: 'Buy milk' } }

let grantor: Grantor
let resource: string
let reasons: string[]
let close: () => Promise<unknown>

beforeAll(async () => {
  const [port] = await freePorts(1)
  resource = `http://localhost:${port}/mcp`
  grantor = await startGrantor()
  const api = await grantor.createClient({ name: 'Notes', redirectUris: [], resourceServer: resource })
  reasons = []
  const server = createNotesServer({
    issuer: grantor.authUrl,
    resource,
    clientId: api.id,
    clientSecret: api.secret,
    onRefusal: ({ reason }) => reasons.push(reason),
    now: grantor.clock.now,
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  close = async () => {
    server.close()
    server.closeAllConnections()
    await grantor.close()
  }
})
afterAll(() => close())

/** A native client that the operator registered for the MCP server. */
const registered = (grantTypes?: TestClient['grantTypes']) =>
  grantor.createClient({
    name: 'Agent',
    type: 'native',
    redirectUris: [REDIRECT_URI],
    scopes: [...NOTES_SCOPES],
    resources: [resource],
    grantTypes,
  })

const signingIn = (client: TestClient, wallet = testWallet(0)) => userOf(grantor, client, { redirectUri: REDIRECT_URI, wallet })

const said = (result: unknown): unknown => (result as { content: { text: string }[] }).content[0]?.text

test('Without a token the server responds with 401, the address of its metadata, and the scope of every call (RFC 9728 §5.1)', async () => {
  const answer = await send(new URL(resource).origin, { method: 'POST', path: '/mcp', body: '{}' })
  const metadata = `${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp`
  expect([answer.status, answer.headers['www-authenticate']]).toEqual([
    401,
    `Bearer realm="${resource}", scope="notes.read", resource_metadata="${metadata}", ` +
      `DPoP scope="notes.read", resource_metadata="${metadata}", algs="ES256 PS256 EdDSA"`,
  ])
  const document = await fetch(metadata)
  expect(await document.json()).toEqual({
    resource,
    authorization_servers: [grantor.authUrl],
    scopes_supported: [...NOTES_SCOPES],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA'],
    resource_name: 'Notes of a wallet',
  })
})

test('The server refuses a call from a foreign page, or under a foreign host name, with 403 (MCP, Security Warning)', async () => {
  const { origin, port } = new URL(resource)
  const call = async (headers: Record<string, string>) =>
    (await send(origin, { method: 'POST', path: '/mcp', headers, body: '{}' })).status
  expect(await call({ origin: 'https://evil.example' })).toBe(403)
  expect(await call({ host: `evil.example:${port}`, origin: `http://evil.example:${port}` })).toBe(403)
  expect(reasons.slice(-2)).toEqual(['foreign_origin', 'foreign_host'])
  expect([await call({}), await call({ origin })]).toEqual([401, 401])
})

test("The SDK's client 2.x gets 401, finds the metadata, signs in, calls a tool, is refused for a scope, and steps up", async () => {
  const { modernProvider: authProvider, asked, sign, tokens } = signingIn(await registered())
  const transport = new modern.StreamableHTTPClientTransport(new URL(resource), { authProvider })
  const client = new modern.Client({ name: 'agent', version: '1.0.0' })
  await expect(client.connect(transport)).rejects.toThrow(modern.UnauthorizedError)
  expect(reasons.at(-1)).toBe('no_credentials')
  expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toMatchObject({
    scope: 'notes.read',
    resource,
    code_challenge_method: 'S256',
  })
  await transport.finishAuth((await sign()).searchParams)

  const again = new modern.StreamableHTTPClientTransport(new URL(resource), { authProvider })
  await client.connect(again)
  expect(said(await client.callTool({ name: 'whoami' }))).toBe(testWallet(0).address)
  expect(said(await client.callTool({ name: 'read_note' }))).toBe('')

  await expect(client.callTool(WRITE_NOTE)).rejects.toThrow(modern.UnauthorizedError)
  expect(reasons.at(-1)).toBe('scope_missing')
  // RFC 6750 §3.1: the challenge names what the call needs; the client asks for the union with what it has.
  expect(asked[1]?.searchParams.get('scope')?.split(' ').sort()).toEqual(['notes.read', 'notes.write'])
  await again.finishAuth((await sign()).searchParams)
  expect(tokens()?.scope?.split(' ').sort()).toEqual(['notes.read', 'notes.write'])
  expect(said(await client.callTool(WRITE_NOTE))).toBe('Written.')
  expect(said(await client.callTool({ name: 'read_note' }))).toBe('Buy milk')
  await client.close()
})

test("The SDK's client 1.x gets 401, finds the metadata, signs in, calls a tool, is refused for a scope, and steps up", async () => {
  // This client prefers a refresh to a step-up, so it steps up only without a refresh token.
  const { provider, asked, sign } = signingIn(await registered(['authorization_code']), testWallet(1))
  const connect = async () => {
    const transport = new StreamableHTTPClientTransport(new URL(resource), { authProvider: provider })
    const client = new Client({ name: 'agent', version: '1.0.0' })
    await client.connect(transport)
    return client
  }
  await expect(connect()).rejects.toThrow(UnauthorizedError)
  const finish = async () => {
    const authorizationCode = (await sign()).searchParams.get('code') ?? ''
    expect(await auth(provider, { serverUrl: resource, authorizationCode })).toBe('AUTHORIZED')
  }
  await finish()
  const client = await connect()
  expect(said(await client.callTool({ name: 'whoami' }))).toBe(testWallet(1).address)
  await expect(client.callTool(WRITE_NOTE)).rejects.toThrow(UnauthorizedError)
  expect(asked.at(-1)?.searchParams.get('scope')).toBe('notes.read notes.write')
  await finish()
  expect(said(await client.callTool(WRITE_NOTE))).toBe('Written.')
  await client.close()
})

test("The SDK's client 2.x with a key of its own gets tokens that are bound to the key, and steps up with them (RFC 9449 §7)", async () => {
  const { modernProvider, sign, tokens } = signingIn(await registered())
  const session = await modern.DpopSession.create()
  const authProvider = { ...modernProvider, dpop: () => session }
  // The library's proofs have the machine's time, which may be up to 60 seconds behind the service's.
  grantor.clock.at = Math.floor(Date.now() / 1000) + 30
  const connect = async () => {
    const transport = new modern.StreamableHTTPClientTransport(new URL(resource), { authProvider })
    const client = new modern.Client({ name: 'agent', version: '1.0.0' })
    return { transport, client, connected: client.connect(transport) }
  }
  const first = await connect()
  await expect(first.connected).rejects.toThrow(modern.UnauthorizedError)
  await first.transport.finishAuth((await sign()).searchParams)
  expect(tokens()?.token_type).toBe('DPoP')

  const { transport, client, connected } = await connect()
  await connected
  expect(said(await client.callTool({ name: 'whoami' }))).toBe(testWallet(0).address)
  await expect(client.callTool(WRITE_NOTE)).rejects.toThrow(modern.UnauthorizedError)
  expect(reasons.at(-1)).toBe('scope_missing')
  await transport.finishAuth((await sign()).searchParams)
  expect(said(await client.callTool(WRITE_NOTE))).toBe('Written.')
  await client.close()

  const headers = { authorization: `Bearer ${tokens()?.access_token}` }
  const stolen = await send(new URL(resource).origin, { method: 'POST', path: '/mcp', headers, body: '{}' })
  expect([stolen.status, reasons.at(-1)]).toEqual([401, 'sender_constrained'])
})

test('A wallet reads only its own note', async () => {
  const { modernProvider: authProvider, sign } = signingIn(await registered(), testWallet(2))
  const transport = new modern.StreamableHTTPClientTransport(new URL(resource), { authProvider })
  const client = new modern.Client({ name: 'agent', version: '1.0.0' })
  await expect(client.connect(transport)).rejects.toThrow(modern.UnauthorizedError)
  await transport.finishAuth((await sign()).searchParams)
  await client.connect(new modern.StreamableHTTPClientTransport(new URL(resource), { authProvider }))
  expect(said(await client.callTool({ name: 'read_note' }))).toBe('')
  await client.close()
})

test('A token that was just revoked is refused, and so is a token of another resource', async () => {
  const app = await grantor.createClient({
    redirectUris: [REDIRECT_URI],
    scopes: [...NOTES_SCOPES],
    resources: [resource, 'https://api.example.com/'],
  })
  const walk = new Walk(grantor)
  const tokenFor = async (target: string) => {
    const request = {
      response_type: 'code',
      client_id: app.id,
      redirect_uri: REDIRECT_URI,
      scope: 'notes.read',
      resource: target,
    }
    const { code } = await walk.signIn({ ...request, prompt: 'login' })
    return String((await walk.exchange(app, code)).json().access_token)
  }
  const call = async (token: string) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    return send(new URL(resource).origin, { method: 'POST', path: '/mcp', headers, body })
  }
  const token = await tokenFor(resource)
  expect((await call(token)).status).toBe(200)
  await walk.revoke(app, token)
  expect((await call(token)).json()).toMatchObject({ error: 'invalid_token' })
  expect((await call(await tokenFor('https://api.example.com/'))).json()).toMatchObject({ error: 'invalid_token' })
  expect(reasons.slice(-2)).toEqual(['inactive', 'claim_aud'])
})
