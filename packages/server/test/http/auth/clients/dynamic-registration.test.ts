/** Clients that register themselves (RFC 7591): the client id is the sealed registration, and nothing is stored. */
import { decodeProtectedHeader } from 'jose'
import { expect, onTestFinished } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { newClientKey } from '../../../support/client-key.ts'
import { allowDevice, authorizedDevice, DEVICE_GRANT, openDevicePage, poll } from '../../../support/device.ts'
import { exchangeWith, newDpopKey } from '../../../support/dpop.ts'
import { test as base } from '../../../support/fixtures.ts'
import type { Answer } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, Walk } from '../../../support/walk.ts'

const ON = { GRANTOR_DYNAMIC_REGISTRATION: 'on' }

const test = base.extend('options', { environment: ON, limits: { registrations: 1000 } })

const EDITOR = {
  client_name: 'Editor',
  redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/** What the response states beside the members of the request. */
const STATED = {
  subject_type: 'public',
  id_token_signed_response_alg: 'ES256',
  authorization_signed_response_alg: 'ES256',
  dpop_bound_access_tokens: false,
  require_pushed_authorization_requests: false,
  require_signed_request_object: false,
}

function register(grantor: Grantor, body: unknown, at: Grantor = grantor, headers: Record<string, string> = {}): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Walk(at).browse({
    method: 'POST',
    path: '/oauth/register',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
  })
}

const clientOf = (answer: Answer) => {
  const { client_id: id, redirect_uris: redirectUris } = answer.json()
  return { id, redirectUris, secret: '' } as unknown as TestClient
}

const requestOf = (client: TestClient) => ({
  client_id: client.id,
  redirect_uri: client.redirectUris[0] ?? '',
  response_type: 'code',
  scope: 'openid',
  ...PKCE,
})

test('An editor with a private-use scheme registers itself, signs a wallet in and refreshes, and nothing is stored before the signature', async ({
  grantor,
}) => {
  const before = JSON.stringify(await grantor.rows())
  const answer = await register(grantor, EDITOR)
  expect(answer.status).toBe(201)
  expect(answer.json()).toEqual({
    ...EDITOR,
    client_id: expect.stringMatching(/^grd\./),
    ...STATED,
    client_id_issued_at: grantor.clock.now(),
  })
  expect(JSON.stringify(await grantor.rows())).toBe(before)

  const client = clientOf(answer)
  const walk = new Walk(grantor)
  const { code } = await walk.signIn(requestOf(client))
  const tokens = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER }))
  expect(claimsOf(tokens.access_token)).toMatchObject({ client_id: client.id, sub: walk.wallet.address })
  expect((await walk.refresh(client, tokens.refresh_token)).status).toBe(200)
})

test('A registration is answered with a warning if its longest text has more than 1,024 bytes, and is not refused', async ({
  grantor,
}) => {
  expect((await register(grantor, EDITOR)).json().warnings).toBeUndefined()
  for (const name of ['notes', 'files', 'mail'])
    await grantor.store.resources.insertResource({
      uri: `https://${name}.example.com/mcp`,
      name,
      scopes: ['read', 'write', 'delete'].map((scope) => ({ name: `${name}.${scope}`, description: scope })),
      openTo: ['dynamic'],
      createdAt: 0,
    })
  await grantor.noticeChanges()
  const answer = await register(grantor, EDITOR)
  expect(answer.status).toBe(201)
  expect(answer.json().warnings).toEqual([
    expect.stringMatching(/^The longest text that a wallet signs for this client has 1,\d{3} bytes\. /),
  ])
})

test('The signed text says that the app registered itself, and names the hash of the registration and where the answer goes', async ({
  grantor,
}) => {
  const client = clientOf(await register(grantor, EDITOR))
  const walk = new Walk(grantor)
  const challenge = await walk.challenge(requestOf(client))
  const text = await walk.loginApi('/login/message', { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 })
  const message = text.json().message as string
  expect(message).toContain("Allow an app that registered itself (calls itself 'Editor') until ")
  expect(message).toContain('Answers go to an app that opens cursor: links.')
  expect(message).toMatch(/\n- ni:\/\/\/sha-256;[\w-]{43}\n/)
  expect((await walk.describe(challenge)).json()).toMatchObject({ client_publisher: '', client_scheme: 'cursor' })
})

const COMMAND_LINE = {
  client_name: 'Tool',
  grant_types: [DEVICE_GRANT, 'refresh_token'],
  token_endpoint_auth_method: 'none',
}

test('A device registers itself without redirect URIs, signs a wallet in and refreshes (RFC 7591, RFC 8628)', async ({
  grantor,
}) => {
  const answer = await register(grantor, COMMAND_LINE)
  expect(answer.status).toBe(201)
  const client = clientOf(answer)
  const walk = new Walk(grantor)
  const device = await authorizedDevice(walk, client, { scope: 'openid' })
  expect((await openDevicePage(walk, device.user_code)).body).toContain('It calls itself “<bdi>Tool</bdi>”.')
  await allowDevice(walk, device)
  const tokens = tokensOf(await poll(walk, client, device))
  expect(claimsOf(tokens.access_token)).toMatchObject({ client_id: client.id, sub: walk.wallet.address })
  expect((await walk.refresh(client, tokens.refresh_token)).status).toBe(200)
})

test('The ID tokens and the signed responses of a client have the algorithms that it registered, and the response states them (RFC 7591 §3.2.1)', async ({
  grantor,
}) => {
  const wanted = { id_token_signed_response_alg: 'RS256', authorization_signed_response_alg: 'EdDSA' }
  const answer = await register(grantor, { ...EDITOR, ...wanted })
  expect(answer.json()).toMatchObject({ ...STATED, ...wanted })
  const client = clientOf(answer)
  const walk = new Walk(grantor)
  const { code } = await walk.signIn(requestOf(client))
  const { id_token: idToken } = (await walk.exchange(client, code, { code_verifier: CODE_VERIFIER })).json()
  expect(decodeProtectedHeader(idToken as string).alg).toBe('RS256')
  const { location } = await walk.authorize({ ...requestOf(client), response_mode: 'jwt' })
  expect(decodeProtectedHeader(parameterOf(location, 'response')).alg).toBe('EdDSA')
})

test('A client that registered dpop_bound_access_tokens gets only bound tokens (RFC 9449 §5.2)', async ({ grantor }) => {
  const answer = await register(grantor, { ...EDITOR, dpop_bound_access_tokens: true })
  expect(answer.json()).toMatchObject({ ...STATED, dpop_bound_access_tokens: true })
  const client = clientOf(answer)
  const walk = new Walk(grantor)
  const { code } = await walk.signIn(requestOf(client))
  const refused = await exchangeWith(walk, client, code, null)
  expect([refused.status, refused.json().error]).toEqual([400, 'invalid_dpop_proof'])
  expect((await exchangeWith(walk, client, code, newDpopKey())).json()).toMatchObject({ token_type: 'DPoP' })
})

test('A client that registered for pushed or signed requests can send no others (RFC 9126 §6, RFC 9101 §10.5)', async ({
  grantor,
}) => {
  const pushing = clientOf(await register(grantor, { ...EDITOR, require_pushed_authorization_requests: true }))
  const walk = new Walk(grantor)
  const direct = await walk.authorize(requestOf(pushing))
  expect(parameterOf(direct.location, 'error')).toBe('invalid_request')
  const pushed = await walk.postForm('/oauth/par', requestOf(pushing))
  expect((await walk.authorize({ client_id: pushing.id, request_uri: pushed.json().request_uri as string })).location).toContain(
    '/login?login_challenge=',
  )
  const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [newClientKey().jwk] } }
  const signing = clientOf(await register(grantor, { ...EDITOR, ...keys, require_signed_request_object: true }))
  expect(parameterOf((await walk.authorize(requestOf(signing))).location, 'error')).toBe('invalid_request')
})

test('A client that asks for a secret gets a registration without one (RFC 7591 §3.2.1)', async ({ grantor }) => {
  const answer = await register(grantor, { ...EDITOR, token_endpoint_auth_method: 'client_secret_post' })
  expect(answer.json()).toMatchObject({ token_endpoint_auth_method: 'none' })
  expect(answer.json()).not.toHaveProperty('client_secret')
})

test('Members that the service does not use are ignored, a software statement too (RFC 7591 §2, §3.1.1)', async ({ grantor }) => {
  const answer = await register(grantor, {
    ...EDITOR,
    software_statement: 'x.y.z',
    logo_uri: 'https://a.example/l',
    scope: 'everything',
    initiate_login_uri: 'https://a.example/login',
  })
  expect(answer.status).toBe(201)
  for (const member of ['software_statement', 'logo_uri', 'scope', 'initiate_login_uri'])
    expect(answer.json()).not.toHaveProperty(member)
})

test.for<[what: string, body: unknown, error: string]>([
  ['no redirect URIs', { ...EDITOR, redirect_uris: [] }, 'invalid_redirect_uri'],
  ['http outside loopback', { ...EDITOR, redirect_uris: ['http://app.example/'] }, 'invalid_redirect_uri'],
  ['a scheme that is not listed', { ...EDITOR, redirect_uris: ['ms-msdt:/x'] }, 'invalid_redirect_uri'],
  ['javascript', { ...EDITOR, redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
  ['a name with a host', { ...EDITOR, client_name: 'bank.example' }, 'invalid_client_metadata'],
  ['an invisible name', { ...EDITOR, client_name: '\u3164' }, 'invalid_client_metadata'],
  ['the implicit grant', { ...EDITOR, grant_types: ['implicit'] }, 'invalid_client_metadata'],
  ['a private key', { ...EDITOR, jwks: { keys: [{ kty: 'oct', k: 'AA' }] } }, 'invalid_client_metadata'],
  ['pairwise subjects', { ...EDITOR, subject_type: 'pairwise' }, 'invalid_client_metadata'],
  ['ID tokens without a signature', { ...EDITOR, id_token_signed_response_alg: 'none' }, 'invalid_client_metadata'],
  ['ID tokens with another algorithm', { ...EDITOR, id_token_signed_response_alg: 'PS256' }, 'invalid_client_metadata'],
  ['responses with a shared secret', { ...EDITOR, authorization_signed_response_alg: 'HS256' }, 'invalid_client_metadata'],
  ['a flag that is a text', { ...EDITOR, dpop_bound_access_tokens: 'true' }, 'invalid_client_metadata'],
  ['tokens bound to a certificate', { ...EDITOR, tls_client_certificate_bound_access_tokens: true }, 'invalid_client_metadata'],
  ['signed requests without keys', { ...EDITOR, require_signed_request_object: true }, 'invalid_client_metadata'],
  ['a list', [EDITOR], 'invalid_client_metadata'],
  ['two members with one name', `{"client_name":"A",${JSON.stringify(EDITOR).slice(1)}`, 'invalid_client_metadata'],
  [
    'more than a client id can contain',
    { ...EDITOR, redirect_uris: Array.from({ length: 20 }, (_, n) => `https://a${n}.example/${'x'.repeat(80)}`) },
    'invalid_client_metadata',
  ],
])('A registration is refused with the error of RFC 7591 §3.2.2: %s', async ([, body, error], { grantor }) => {
  const answer = await register(grantor, body)
  expect(answer.status).toBe(400)
  expect(answer.json()).toMatchObject({ error })
})

test('A body that is not JSON, or has another type, is refused', async ({ grantor }) => {
  expect((await register(grantor, '{')).status).toBe(400)
  expect((await register(grantor, 'a=b', grantor, { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415)
})

test('A client id with one changed character is unknown', async ({ grantor }) => {
  const client = clientOf(await register(grantor, EDITOR))
  const changed = `${client.id.slice(0, -2)}${client.id.at(-2) === 'A' ? 'B' : 'A'}${client.id.at(-1)}`
  expect((await new Walk(grantor).authorize(requestOf({ ...client, id: changed }))).status).toBe(400)
})

test('With an initial access token, only a caller that sends the token can register (RFC 7591 §3)', async ({ grantor }) => {
  const token = 'initial-access-token-0123456789-abcdef'
  const closed = await startGrantor({ environment: { ...ON, GRANTOR_REGISTRATION_TOKEN: token } })
  onTestFinished(() => closed.close())
  const refused = await register(grantor, EDITOR, closed)
  expect(refused.status).toBe(401)
  expect(refused.headers['www-authenticate']).toContain('Bearer')
  expect((await register(grantor, EDITOR, closed, { authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await register(grantor, EDITOR, closed, { authorization: `Bearer ${token}` })).status).toBe(201)
})

test('A network that registers too often gets 429', async ({ grantor }) => {
  const limited = await startGrantor({ environment: ON, limits: { registrations: 2 } })
  onTestFinished(() => limited.close())
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await register(grantor, EDITOR, limited)).status)
  expect(statuses).toEqual([201, 201, 429])
})

test('Without the setting there is no endpoint, no metadata for it, and no such client', async ({ grantor }) => {
  const off = await startGrantor()
  onTestFinished(() => off.close())
  expect((await register(grantor, EDITOR, off)).status).toBe(404)
  expect((await new Walk(off).browse({ path: '/.well-known/oauth-authorization-server' })).json()).not.toHaveProperty(
    'registration_endpoint',
  )
  const metadata = (await new Walk(grantor).browse({ path: '/.well-known/oauth-authorization-server' })).json()
  expect(metadata.registration_endpoint).toBe(`${grantor.authUrl}/oauth/register`)
})
