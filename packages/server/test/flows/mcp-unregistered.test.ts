/**
 * The official MCP SDK, unchanged, as a client that no operator registered: with a metadata document of each shape that widely used
 * clients publish, and with dynamic registration.
 */
import * as modern from '@modelcontextprotocol/client'
import { auth, type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientHost, startClientHost } from '../support/client-host.ts'
import { startNotes } from '../support/notes.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

const WRITE_NOTE = { name: 'write_note', arguments: { note: 'Buy milk' } }

let grantor: Grantor
let resource: string
let host: ClientHost
let close: () => Promise<unknown>
/** from the path of a document to its members without `client_id` */
const documents = new Map<string, Record<string, unknown>>()

beforeAll(async () => {
  host = await startClientHost(
    ({ url = '' }, response) => {
      response.writeHead(documents.has(url) ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ client_id: `${host.origin}${url}`, ...documents.get(url) }))
    },
    { tls: true },
  )
  grantor = await startGrantor({
    clientMetadata: true,
    environment: { GRANTOR_DYNAMIC_REGISTRATION: 'on' },
    limits: { client_fetches: 1000, host_fetches: 1000 },
  })
  const notes = await startNotes(grantor)
  resource = notes.resource
  close = async () => {
    notes.close()
    await Promise.all([grantor.close(), host.close()])
  }
})
afterAll(() => close())

type Shape = { redirectUri: string; document: Record<string, unknown> }

const CODE_AND_REFRESH = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
const SHAPES: [what: string, shape: Shape][] = [
  [
    'a command-line agent with localhost and 127.0.0.1',
    {
      redirectUri: 'http://localhost:54321/callback',
      document: {
        client_name: 'Agent CLI',
        redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
        ...CODE_AND_REFRESH,
      },
    },
  ],
  [
    'a web assistant without authentication',
    {
      redirectUri: 'https://assistant.example/api/mcp/auth_callback',
      document: {
        client_name: 'Assistant',
        client_uri: 'https://assistant.example',
        redirect_uris: ['https://assistant.example/api/mcp/auth_callback'],
        token_endpoint_auth_method: 'none',
        ...CODE_AND_REFRESH,
        // It uses this grant type at other servers.
        grant_types: [...CODE_AND_REFRESH.grant_types, 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      },
    },
  ],
  [
    'an editor with a fixed loopback port, a web address and device codes',
    {
      redirectUri: 'http://127.0.0.1:33418/',
      document: {
        client_name: 'Editor',
        client_uri: 'https://editor.example',
        logo_uri: 'https://editor.example/logo.png',
        redirect_uris: ['http://127.0.0.1:33418/', 'https://editor.example/redirect'],
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        ...CODE_AND_REFRESH,
        grant_types: [...CODE_AND_REFRESH.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
      },
    },
  ],
  [
    'an editor with one loopback address',
    {
      redirectUri: 'http://127.0.0.1:41241/callback',
      document: {
        client_name: 'Small Editor',
        client_uri: 'https://small-editor.example',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
        ...CODE_AND_REFRESH,
      },
    },
  ],
  [
    'an open-source agent that names its one method twice',
    {
      redirectUri: 'http://127.0.0.1:19876/callback',
      document: {
        client_name: 'Open Agent',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
        token_endpoint_auth_method: 'none',
        token_endpoint_auth_methods_supported: ['none'],
        ...CODE_AND_REFRESH,
      },
    },
  ],
  [
    'a client with few members',
    {
      redirectUri: 'http://127.0.0.1:19876/mcp/oauth/callback',
      document: { client_name: 'Plain', redirect_uris: ['http://127.0.0.1:19876/mcp/oauth/callback'], ...CODE_AND_REFRESH },
    },
  ],
]

/** What the SDK keeps for one client, with a user who signs in the browser. */
function signingIn(redirectUri: string, more: Partial<OAuthClientProvider>) {
  const walk = new Walk(grantor, testWallet(0))
  const requests: URL[] = []
  let tokens: OAuthTokens | undefined
  let verifier = ''
  let discovered: modern.OAuthDiscoveryState | undefined
  let information: OAuthClientInformationMixed | undefined
  const provider = {
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'Agent', redirect_uris: [redirectUri], ...CODE_AND_REFRESH },
    state: () => 'af0ifjsl',
    clientInformation: () => information,
    saveClientInformation: (saved: OAuthClientInformationMixed) => void (information = saved),
    tokens: () => tokens,
    saveTokens: (saved: OAuthTokens) => void (tokens = saved),
    redirectToAuthorization: (url: URL) => void requests.push(url),
    saveCodeVerifier: (text: string) => void (verifier = text),
    codeVerifier: () => verifier,
    saveDiscoveryState: (state: modern.OAuthDiscoveryState) => void (discovered = state),
    discoveryState: () => discovered,
    ...more,
  }
  const sign = async (): Promise<URL> => new URL((await walk.signIn(requests.at(-1)?.search.slice(1) ?? '')).to)
  return { provider, requests, sign, tokens: () => tokens, information: () => information }
}

const textOf = (result: unknown): unknown => (result as { content: { text: string }[] }).content[0]?.text

test.each(SHAPES)(
  'The SDK signs in as %s, calls a tool, refreshes, and steps up with the union of the scopes, without a registration',
  async (what, { redirectUri, document }) => {
    const path = `/${what.replaceAll(/\W/g, '-')}.json`
    documents.set(path, document)
    const clientMetadataUrl = `${host.origin}${path}`
    const { provider, requests, sign, tokens } = signingIn(redirectUri, { clientMetadataUrl })
    const authProvider = provider as unknown as modern.OAuthClientProvider
    const connect = async () => {
      const transport = new modern.StreamableHTTPClientTransport(new URL(resource), { authProvider })
      const client = new modern.Client({ name: 'agent', version: '1.0.0' })
      return { transport, client, connected: client.connect(transport) }
    }
    const first = await connect()
    await expect(first.connected).rejects.toThrow(modern.UnauthorizedError)
    expect(requests[0]?.searchParams.get('client_id')).toBe(clientMetadataUrl)
    await first.transport.finishAuth((await sign()).searchParams)

    const { transport, client, connected } = await connect()
    await connected
    expect(textOf(await client.callTool({ name: 'whoami' }))).toBe(testWallet(0).address)
    const before = tokens()?.refresh_token
    grantor.clock.advance(601)
    expect(textOf(await client.callTool({ name: 'read_note' }))).toBeTypeOf('string')
    expect(tokens()?.refresh_token).not.toBe(before)

    await expect(client.callTool(WRITE_NOTE)).rejects.toThrow(modern.UnauthorizedError)
    expect(requests.at(-1)?.searchParams.get('scope')?.split(' ').sort()).toEqual(['notes.read', 'notes.write'])
    await transport.finishAuth((await sign()).searchParams)
    expect(textOf(await client.callTool(WRITE_NOTE))).toBe('Written.')
    await client.close()
  },
)

/** The client of the SDK 1.x with a document that names these grant types. `finish` signs and redeems the code. */
function legacyClient(path: string, grantTypes: string[]) {
  const redirectUri = 'http://localhost:54321/callback'
  const document = { client_name: 'Agent', redirect_uris: ['http://localhost/callback'], token_endpoint_auth_method: 'none' }
  documents.set(path, { ...document, grant_types: grantTypes, response_types: ['code'] })
  const { provider, requests, sign, tokens } = signingIn(redirectUri, { clientMetadataUrl: `${host.origin}${path}` })
  const authProvider = provider as unknown as OAuthClientProvider
  const connect = async () => {
    const client = new Client({ name: 'agent', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(resource), { authProvider }))
    return client
  }
  const finish = async () => {
    const authorizationCode = (await sign()).searchParams.get('code') ?? ''
    expect(await auth(authProvider, { serverUrl: resource, authorizationCode })).toBe('AUTHORIZED')
  }
  return { connect, finish, requests, tokens }
}

test('The client of the SDK 1.x with a document calls a tool, and steps up with the union of the scopes, without a registration', async () => {
  // This client prefers a refresh to a step-up, so it steps up only without a refresh token.
  const { connect, finish, requests, tokens } = legacyClient('/legacy-code-only.json', ['authorization_code'])
  await expect(connect()).rejects.toThrow(UnauthorizedError)
  await finish()
  const client = await connect()
  expect(tokens()?.scope).toBe('notes.read')
  expect(textOf(await client.callTool({ name: 'whoami' }))).toBe(testWallet(0).address)
  await expect(client.callTool(WRITE_NOTE)).rejects.toThrow(UnauthorizedError)
  expect(requests.at(-1)?.searchParams.get('scope')).toBe('notes.read notes.write')
  await finish()
  expect(textOf(await client.callTool(WRITE_NOTE))).toBe('Written.')
  await client.close()
})

test('The client of the SDK 1.x with a document refreshes an expired token by itself, without a registration', async () => {
  const { connect, finish, requests, tokens } = legacyClient('/legacy-refresh.json', CODE_AND_REFRESH.grant_types)
  await expect(connect()).rejects.toThrow(UnauthorizedError)
  await finish()
  const client = await connect()
  const before = tokens()?.refresh_token
  grantor.clock.advance(601)
  expect(textOf(await client.callTool({ name: 'read_note' }))).toBeTypeOf('string')
  expect(tokens()?.refresh_token).not.toBe(before)
  expect(requests).toHaveLength(1)
  await client.close()
})

test('A client whose document offers `none` and private_key_jwt with RS256 keys at a jwks_uri authenticates with its key, and gets tokens', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { modulusLength: 2048 })
  const redirectUri = 'https://chat.example/connector/oauth/callback'
  documents.set('/jwks.json', { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] })
  documents.set('/rs256.json', {
    client_name: 'Chat',
    redirect_uris: [redirectUri],
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg: 'RS256',
    jwks_uri: `${host.origin}/jwks.json`,
    ...CODE_AND_REFRESH,
  })
  const clientId = `${host.origin}/rs256.json`
  const addClientAuthentication: OAuthClientProvider['addClientAuthentication'] = async (_headers, params) => {
    const assertion = new SignJWT({ jti: crypto.randomUUID() }).setProtectedHeader({ alg: 'RS256', kid: 'k1' })
    const exp = new Date((grantor.clock.now() + 60) * 1000)
    assertion.setIssuer(clientId).setSubject(clientId).setAudience(grantor.authUrl).setExpirationTime(exp)
    params.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    params.set('client_assertion', await assertion.sign(privateKey))
  }
  const { provider, sign, tokens } = signingIn(redirectUri, { clientMetadataUrl: clientId, addClientAuthentication })
  const authProvider = provider as unknown as OAuthClientProvider
  await expect(auth(authProvider, { serverUrl: resource, scope: 'notes.read' })).resolves.toBe('REDIRECT')
  const authorizationCode = (await sign()).searchParams.get('code') ?? ''
  expect(await auth(authProvider, { serverUrl: resource, authorizationCode })).toBe('AUTHORIZED')
  expect(tokens()?.scope).toBe('notes.read')
})

test('An editor that cannot publish a document registers itself with a private-use scheme and signs in', async () => {
  const redirectUri = 'cursor://anysphere.cursor-mcp/oauth/callback'
  const { provider, sign, tokens, information } = signingIn(redirectUri, {})
  const authProvider = provider as unknown as OAuthClientProvider
  await expect(auth(authProvider, { serverUrl: resource, scope: 'notes.read' })).resolves.toBe('REDIRECT')
  expect(information()?.client_id).toMatch(/^grd\./)
  const authorizationCode = (await sign()).searchParams.get('code') ?? ''
  expect(await auth(authProvider, { serverUrl: resource, authorizationCode })).toBe('AUTHORIZED')
  expect(tokens()?.scope).toBe('notes.read')
})
