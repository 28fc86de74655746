/** Clients that are not registered: their client id is the URL of a metadata document. */

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { type ClientHost, startClientHost } from '../../../support/client-host.ts'
import { asserting, post } from '../../../support/client-key.ts'
import { exchangeWith, newDpopKey } from '../../../support/dpop.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, noticeOf, PKCE, parameterOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let host: ClientHost
let walk: Walk
let document: Record<string, unknown>
let headers: Record<string, string>

const PATH = '/client.json'
const REDIRECT_URI = 'http://localhost:33418/callback'

function answerWithDocument(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(document))
}

function respond(response: ServerResponse, type: string, more = ''): void {
  response.writeHead(200, { 'content-type': type })
  response.end(JSON.stringify(document) + more)
}

beforeAll(async () => {
  host = await startClientHost(answerWithDocument)
  grantor = await startGrantor({ clientMetadata: true, limits: { client_fetches: 1000, host_fetches: 1000 } })
})
afterAll(async () => {
  await grantor.close()
  await host.close()
})

let count = 0
/** A client id that no other test uses. */
let clientId: string

beforeEach(() => {
  walk = new Walk(grantor)
  clientId = `${host.origin}${PATH}?n=${++count}`
  headers = {}
  document = {
    client_id: clientId,
    client_name: 'Agent Tools',
    redirect_uris: ['http://localhost/callback', 'https://agent.example/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  }
  host.answer = answerWithDocument
  host.requests.length = 0
})

const request = (more: Record<string, string> = {}) => ({
  client_id: clientId,
  redirect_uri: REDIRECT_URI,
  response_type: 'code',
  scope: 'openid wallet',
  ...PKCE,
  state: 's',
  ...more,
})

const client = () => ({ id: clientId, secret: '', redirectUris: [REDIRECT_URI] }) as unknown as TestClient

test('A client with a metadata document signs a wallet in, exchanges the code and refreshes, without registration', async () => {
  const { code } = await walk.signIn(request())
  const tokens = tokensOf(await walk.exchange(client(), code, { code_verifier: CODE_VERIFIER }))
  expect(claimsOf(tokens.access_token)).toMatchObject({ client_id: clientId, sub: walk.wallet.address })
  expect(tokens.scope).toBe('openid wallet')
  const refreshed = await walk.refresh(client(), tokens.refresh_token)
  expect(refreshed.status).toBe(200)
  expect(host.requests).toHaveLength(1)
})

test('The signed text names the host of the client id before the name that the client gave itself, and says that the answer stays on this device', async () => {
  const challenge = await walk.challenge(request())
  const described = (await walk.describe(challenge)).json()
  expect(described).toMatchObject({ client_publisher: new URL(clientId).host, client_name: 'Agent Tools' })
  const text = await walk.loginApi('/login/message', { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 })
  const message = text.json().message as string
  expect(message).toContain(`Allow the app of ${new URL(clientId).host} (calls itself 'Agent Tools') until `)
  expect(message).toContain('Answers go to a program on this device.')
  expect(message).toContain(`\n- ${clientId}\n`)
})

test('Nothing is written before a person signs, however many client ids are named', async () => {
  const before = JSON.stringify(await grantor.rows())
  for (let n = 0; n < 50; n++) {
    const id = `${host.origin}${PATH}?many=${n}`
    document = { ...document, client_id: id }
    expect((await walk.authorize(request({ client_id: id }))).status).toBe(302)
  }
  expect(JSON.stringify(await grantor.rows())).toBe(before)
})

test('Consent is always signed: a session alone gives no code', async () => {
  await walk.signIn(request())
  const { location } = await walk.authorize(request({ scope: 'openid' }))
  expect(parameterOf(location, 'code') !== '' || location.includes('/login?')).toBe(true)
  const other = `${clientId}&other=1`
  document = { ...document, client_id: other }
  expect((await walk.authorize(request({ client_id: other }))).location).toContain('/login?login_challenge=')
})

test('A redirect URI that was withdrawn from the document is refused when the cached copy is no longer fresh', async () => {
  headers = { 'cache-control': 'max-age=120' }
  expect((await walk.authorize(request())).status).toBe(302)
  document.redirect_uris = ['https://agent.example/callback']
  grantor.clock.advance(119)
  expect((await walk.authorize(request())).status).toBe(302)
  grantor.clock.advance(2)
  const refused = await walk.authorize(request())
  expect(refused.status).toBe(400)
  expect(grantor.events.at(-1)).toMatchObject({ event: 'authorize_refused', reason: 'redirect_uri_not_registered' })
  expect(host.requests).toHaveLength(2)
})

test('Grants stay valid for a day in which the document cannot be fetched, and a refresh after that day gets 503', async () => {
  const { code } = await walk.signIn(request())
  let tokens = tokensOf(await walk.exchange(client(), code, { code_verifier: CODE_VERIFIER }))
  host.answer = (_, response) => void response.destroy()
  grantor.clock.advance(86_000)
  tokens = tokensOf(await walk.refresh(client(), tokens.refresh_token))
  grantor.clock.advance(500)
  const late = await walk.refresh(client(), tokens.refresh_token)
  expect(late.status).toBe(503)
  expect(late.json()).toMatchObject({ error: 'temporarily_unavailable' })
  host.answer = answerWithDocument
  grantor.clock.advance(61)
  expect((await walk.refresh(client(), tokens.refresh_token)).status).toBe(200)
})

test('A document that failed is not fetched again for ten seconds', async () => {
  host.answer = (_, response) => void response.writeHead(404).end()
  for (let n = 0; n < 3; n++) expect((await walk.authorize(request())).status).toBe(400)
  expect(host.requests).toHaveLength(1)
  expect(grantor.events.at(-1)).toMatchObject({ reason: 'metadata_status' })
  host.answer = answerWithDocument
  grantor.clock.advance(10)
  expect((await walk.authorize(request())).status).toBe(302)
})

test.each<[what: string, answer: (response: ServerResponse) => void, reason: string]>([
  ['a redirect', (response) => response.writeHead(302, { location: clientId }).end(), 'metadata_unavailable'],
  ['status 201', (response) => response.writeHead(201, { 'content-type': 'application/json' }).end('{}'), 'metadata_status'],
  ['status 500', (response) => response.writeHead(500).end(), 'metadata_status'],
  ['HTML', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(document)), 'metadata_type'],
  ['no type', (response) => response.end(JSON.stringify(document)), 'metadata_type'],
  ['a type that only begins like JSON', (response) => respond(response, 'application/jsonp'), 'metadata_type'],
  ['a body of 65 KiB', (response) => respond(response, 'application/json', ' '.repeat(65 * 1024)), 'metadata_unavailable'],
  [
    'a compressed body',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      response.end(gzipSync(Buffer.alloc(1_000_000)))
    },
    'metadata_unavailable',
  ],
  ['a closed connection', (response) => void response.destroy(), 'metadata_unavailable'],
])('A document is refused if the server answers with %s, and the audit record has the reason', async (_, answer, reason) => {
  host.answer = (__, response) => answer(response)
  const refused = await walk.authorize(request())
  expect(refused.status).toBe(400)
  expect(noticeOf(refused)).toBe('client_document')
  expect(grantor.events.at(-1)).toMatchObject({ event: 'authorize_refused', reason })
  expect(host.requests).toHaveLength(1)
})

test('JSON types with a suffix or a parameter are accepted', async () => {
  for (const type of ['application/client+json', 'application/json; charset=utf-8', 'APPLICATION/JSON']) {
    clientId = `${host.origin}${PATH}?type=${++count}`
    document = { ...document, client_id: clientId }
    headers = { 'content-type': type }
    expect((await walk.authorize(request())).status).toBe(302)
  }
})

test('Beyond its budget of fetches a network gets 429, and clients in memory still work', async () => {
  const limited = await startGrantor({ clientMetadata: true, limits: { client_fetches: 2 } })
  onTestFinished(() => limited.close())
  const other = new Walk(limited)
  const statuses = []
  for (let n = 0; n < 4; n++) {
    const id = `${host.origin}${PATH}?budget=${n}`
    document = { ...document, client_id: id }
    statuses.push((await other.authorize(request({ client_id: id }))).status)
  }
  expect(statuses).toEqual([302, 302, 429, 429])
  expect((await other.authorize(request({ client_id: `${host.origin}${PATH}?budget=0` }))).status).toBe(302)
})

test('Without the setting, a URL is an unknown client, and nothing is fetched', async () => {
  const closed = await startGrantor()
  onTestFinished(() => closed.close())
  expect((await new Walk(closed).authorize(request())).status).toBe(400)
  expect(closed.events.at(-1)).toMatchObject({ reason: 'client_unknown_or_disabled' })
  expect(host.requests).toEqual([])
})

test('A host that the operator blocks is refused at once, and its access tokens stop working', async () => {
  const { code } = await walk.signIn(request())
  const tokens = tokensOf(await walk.exchange(client(), code, { code_verifier: CODE_VERIFIER }))
  const blocked = await startGrantor({
    clientMetadata: true,
    databasePath: grantor.databasePath,
    environment: { GRANTOR_CLIENT_METADATA_BLOCKED_HOSTS: 'localhost' },
    settings: { authUrl: grantor.authUrl, defaultResource: grantor.authUrl },
    clock: grantor.clock,
  })
  onTestFinished(() => blocked.close())
  const api = await grantor.createClient({ redirectUris: [], resourceServer: grantor.authUrl })
  await blocked.noticeChanges()
  const elsewhere = new Walk({ ...blocked, authUrl: `http://localhost:${blocked.ports[0]}` })
  expect((await walk.introspect(api, tokens.access_token)).json()).toMatchObject({ active: true })
  expect((await elsewhere.introspect(api, tokens.access_token)).json()).toEqual({ active: false })
  expect((await elsewhere.authorize(request())).status).toBe(400)
  expect(blocked.events.at(-1)).toMatchObject({ reason: 'metadata_host_not_allowed' })
})

test('Another loopback port than in the consent needs a click if the client has no key, and none if it authenticates', async () => {
  const outcome = async (more: Record<string, string> = {}) => {
    const answer = await walk.authorize(request({ redirect_uri: 'http://localhost:40001/callback', ...more }))
    return answer.status === 200 ? 'confirmation' : parameterOf(answer.location, 'code') === '' ? answer.location : 'code'
  }
  await walk.signIn(request())
  expect(await outcome()).toBe('confirmation')
  expect(await outcome({ prompt: 'none' })).toContain('error=interaction_required')

  clientId = `${host.origin}${PATH}?n=${++count}`
  const { publicKey } = await generateKeyPair('ES256')
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'e', alg: 'ES256' }] }
  document = { ...document, client_id: clientId, token_endpoint_auth_method: 'private_key_jwt', jwks }
  await walk.signIn(request())
  expect(await outcome()).toBe('code')
})

test('A client authenticates with an RS256 key of its document, and with no other key', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { modulusLength: 2048 })
  const key = { ...(await exportJWK(publicKey)), kid: 'r', alg: 'RS256' }
  document = { ...document, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] } }
  const assertion = (signer: CryptoKey, audience = grantor.authUrl) =>
    new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid: 'r' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(audience)
      .setExpirationTime(new Date((grantor.clock.now() + 60) * 1000))
      .sign(signer)
  const { code } = await walk.signIn(request())
  const exchange = async (signer: CryptoKey, audience?: string) =>
    walk.token(
      { id: clientId, secret: '' },
      {
        grant_type: 'authorization_code',
        code,
        redirect_uri: REDIRECT_URI,
        code_verifier: CODE_VERIFIER,
        client_assertion: await assertion(signer, audience),
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      },
    )
  const stranger = await generateKeyPair('RS256', { modulusLength: 2048 })
  expect((await exchange(stranger.privateKey)).json()).toMatchObject({ error: 'invalid_client' })
  const forEndpoint = await exchange(privateKey, `${grantor.authUrl}/oauth/token`)
  expect(forEndpoint.json(), 'the issuer is the only audience').toMatchObject({ error: 'invalid_client' })
  const tokens = tokensOf(await exchange(privateKey))
  expect(claimsOf(tokens.access_token).client_id).toBe(clientId)
})

test('A client whose document has dpop_bound_access_tokens gets only bound tokens, and ID tokens have its algorithm (RFC 9449 §5.2, RFC 7591 §2)', async () => {
  document = { ...document, dpop_bound_access_tokens: true, id_token_signed_response_alg: 'RS256' }
  const { code } = await walk.signIn(request())
  const refused = await exchangeWith(walk, client(), code, null)
  expect([refused.status, refused.json().error]).toEqual([400, 'invalid_dpop_proof'])
  const tokens = (await exchangeWith(walk, client(), code, newDpopKey())).json()
  expect(tokens.token_type).toBe('DPoP')
  expect(decodeProtectedHeader(tokens.id_token as string).alg).toBe('RS256')
})

test('The metadata list RS256 for every endpoint at which a client with an RS256 key authenticates or signs (RFC 8414 §2)', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { modulusLength: 2048 })
  const key = { ...(await exportJWK(publicKey)), kid: 'r', alg: 'RS256' }
  document = { ...document, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] } }
  const signed = (claims: Record<string, unknown>) =>
    new SignJWT({ iss: clientId, aud: grantor.authUrl, exp: grantor.clock.now() + 60, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'r' })
      .sign(privateKey)
  const metadata = (await walk.browse({ path: '/.well-known/oauth-authorization-server' })).json()
  for (const endpoint of ['token', 'revocation', 'introspection']) {
    expect(metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`], `of ${endpoint}`).toContain('RS256')
    const answer = await post(grantor, new URL(metadata[`${endpoint}_endpoint`] as string).pathname, {
      token: 'unknown',
      grant_type: 'refresh_token',
      refresh_token: 'unknown',
      ...asserting(await signed({ sub: clientId, jti: randomUUID() })),
    })
    expect(answer.body, `at ${endpoint}`).not.toContain('invalid_client')
  }
  expect(metadata.request_object_signing_alg_values_supported).toContain('RS256')
  const { location } = await walk.authorize({ client_id: clientId, request: await signed(request()) })
  expect(location).toContain('/login?login_challenge=')
})

test('The account page names the host, and ending the app ends its grants', async () => {
  const { code } = await walk.signIn(request())
  const tokens = tokensOf(await walk.exchange(client(), code, { code_verifier: CODE_VERIFIER }))
  const page = await walk.browse({ path: '/account' })
  expect(page.body).toContain(new URL(clientId).host)
  expect((await walk.postForm('/account/apps/end', { client_id: clientId })).status).toBe(303)
  expect((await walk.refresh(client(), tokens.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
})

test('Requests for one unknown client id that arrive together cause one fetch', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => walk.authorize(request())))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(302))
  expect(host.requests).toHaveLength(1)
})

test('The metadata of the server says that client ids may be URLs', async () => {
  const metadata = (await walk.browse({ path: '/.well-known/oauth-authorization-server' })).json()
  expect(metadata.client_id_metadata_document_supported).toBe(true)
})
