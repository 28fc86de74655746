import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SigningAlgorithm } from '../../../../src/protocol/keys/signing-key.ts'
import { type GrantType, TOKEN_EXCHANGE } from '../../../../src/protocol/oauth/grant-types.ts'
import { type App, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { asserting, assertionOf, newClientKey, post, type TestKey } from '../../../support/client-key.ts'
import { allowDevice, authorizedDevice, createDeviceClient, DEVICE_GRANT, poll } from '../../../support/device.ts'
import { headersOf } from '../../../support/refusals.ts'
import { send } from '../../../support/send.ts'
import type { TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, requestOf } from '../../../support/walk.ts'

const PATH = '/.well-known/oauth-authorization-server'
const OPENID_PATH = '/.well-known/openid-configuration'

let app: App
let metadata: Record<string, unknown>
let clients: Record<string, TestClient>

beforeAll(async () => {
  app = await startApp()
  metadata = (await send(app.grantor.authUrl, { path: PATH })).json()
  clients = {
    client_secret_basic: app.client,
    client_secret_post: await app.grantor.createClient({ authMethod: 'client_secret_post' }),
    private_key_jwt: await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [key.jwk] } }),
    none: await app.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] }),
  }
})
afterAll(() => app.close())

const text = (member: string): string => metadata[member] as string
const list = (member: string): string[] => metadata[member] as string[]
const pathOf = (member: string): string => new URL(text(member)).pathname

const key = newClientKey()

/** Calls an endpoint with one of the methods of RFC 6749 §2.3.1 and §3.2.1, or with the client's key. */
async function callWith(method: string, path: string, body: Record<string, string>) {
  const client = clients[method] as TestClient
  if (method === 'private_key_jwt')
    return post(app.grantor, path, { ...body, ...asserting(await assertionOf(app.grantor, client.id, key)) })
  if (method !== 'client_secret_post') return app.walk.call(path, client, body)
  return app.walk.call(path, { ...client, secret: '' }, { ...body, client_secret: client.secret })
}

// The members for pushed and signed requests are tested in metadata-requests.test.ts, the one for DPoP in dpop-proof.test.ts.
test('The server metadata have exactly the members that have a test', () => {
  expect(Object.keys(metadata).sort()).toEqual(
    [
      'approvals_endpoint',
      'authorization_endpoint',
      'authorization_response_iss_parameter_supported',
      'authorization_signing_alg_values_supported',
      'code_challenge_methods_supported',
      'device_authorization_endpoint',
      'dpop_signing_alg_values_supported',
      'draw_endpoint',
      'endings_endpoint',
      'grant_types_supported',
      'introspection_endpoint',
      'acr_values_supported',
      'introspection_endpoint_auth_methods_supported',
      'introspection_endpoint_auth_signing_alg_values_supported',
      'introspection_signing_alg_values_supported',
      'issuer',
      'jwks_uri',
      'prompt_values_supported',
      'pushed_authorization_request_endpoint',
      'request_object_signing_alg_values_supported',
      'request_parameter_supported',
      'request_uri_parameter_supported',
      'require_pushed_authorization_requests',
      'require_signed_request_object',
      'response_modes_supported',
      'response_types_supported',
      'revocation_endpoint',
      'revocation_endpoint_auth_methods_supported',
      'revocation_endpoint_auth_signing_alg_values_supported',
      'scopes_supported',
      'token_endpoint',
      'token_endpoint_auth_methods_supported',
      'token_endpoint_auth_signing_alg_values_supported',
    ].sort(),
  )
})

describe('The server metadata (RFC 8414 §2)', () => {
  test('The issuer is the origin of the metadata and the `iss` of access tokens (RFC 8414 §3.3, RFC 9207 §2)', async () => {
    expect(metadata.issuer).toBe(app.grantor.authUrl)
    expect((await app.walk.introspect(app.client, (await app.freshTokens()).access_token)).json().iss).toBe(metadata.issuer)
  })

  test('Every endpoint in the metadata is below the issuer and responds', async () => {
    const endpoints = Object.keys(metadata).filter((member) => member.endsWith('_endpoint') || member.endsWith('_uri'))
    expect(endpoints).toHaveLength(10)
    for (const member of endpoints) {
      expect(text(member).startsWith(`${text('issuer')}/oauth/`)).toBe(true)
      const method = ['authorization_endpoint', 'jwks_uri'].includes(member) ? 'GET' : 'POST'
      expect([200, 400, 415]).toContain((await send(app.grantor.authUrl, { method, path: pathOf(member) })).status)
    }
  })

  test('The keys at jwks_uri verify an access token as RFC 9068 §4 requires', async () => {
    const { access_token } = await app.freshTokens()
    const { payload } = await jwtVerify(access_token, createRemoteJWKSet(new URL(text('jwks_uri'))), {
      issuer: text('issuer'),
      audience: app.grantor.authUrl,
      typ: 'at+jwt',
      currentDate: new Date(app.grantor.clock.now() * 1000),
    })
    const authentication = ['acr', 'auth_time']
    const required = ['aud', 'client_id', 'exp', 'grant_id', 'iat', 'iss', 'jti', 'scope', 'sub']
    expect(Object.keys(payload).sort()).toEqual([...authentication, ...required].sort())
    // RFC 9068 §2.2.1
    expect(payload).toMatchObject({ acr: 'urn:grantor:acr:signature', auth_time: app.grantor.clock.now() })
  })

  test('The metadata list the acr for vouching only if the login server may vouch (RFC 9470 §7)', async () => {
    const { settings } = app.grantor.deps
    const listed = async (path: string) => (await send(app.grantor.authUrl, { path })).json().acr_values_supported
    for (const path of [PATH, OPENID_PATH]) {
      expect(await listed(path)).toEqual(['urn:grantor:acr:signature'])
      settings.loginMayVouch = true
      expect(await listed(path)).toEqual(['urn:grantor:acr:signature', 'urn:grantor:acr:vouched'])
      settings.loginMayVouch = false
    }
  })

  test('Each scope in scopes_supported can be registered and granted', async () => {
    expect(metadata.scopes_supported).toEqual(expect.arrayContaining(['enhancement', 'openid', 'wallet']))
    const all = await app.grantor.createClient({ scopes: list('scopes_supported') })
    for (const scope of list('scopes_supported'))
      expect((await app.freshTokens({ scope, response_type: 'code' }, all)).scope).toBe(scope)
  })

  test('The only response type is code, and each mode in response_modes_supported delivers one', async () => {
    expect(metadata.response_types_supported).toEqual(['code'])
    const carriers: Record<string, RegExp> = {
      query: /[?]code=/,
      form_post: /name="code"/,
      'query.jwt': /[?]response=/,
      'form_post.jwt': /name="response"/,
      jwt: /[?]response=/,
    }
    expect(metadata.response_modes_supported).toEqual(Object.keys(carriers))
    for (const [response_mode, carrier] of Object.entries(carriers)) {
      const answer = await app.walk.authorize(requestOf(app.client, { response_type: 'code', response_mode }))
      expect(answer.location + answer.body, `response_mode ${response_mode}`).toMatch(carrier)
    }
    for (const response_type of ['token', 'id_token', 'none', 'code token']) {
      const refused = await app.walk.authorize(requestOf(app.client, { response_type }))
      expect(parameterOf(refused.location, 'error')).toBe('unsupported_response_type')
    }
  })

  test('Each grant type in grant_types_supported yields tokens', async () => {
    expect(metadata.grant_types_supported).toEqual([
      'authorization_code',
      'refresh_token',
      'client_credentials',
      TOKEN_EXCHANGE,
      DEVICE_GRANT,
    ])
    const tokens = await app.freshTokens()
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
    const own = await app.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
    expect((await app.walk.token(own, { grant_type: 'client_credentials' })).status).toBe(200)
    const onDevice = await createDeviceClient(app.grantor)
    const device = await authorizedDevice(app.walk, onDevice)
    await allowDevice(app.walk, device)
    expect((await poll(app.walk, onDevice, device)).status).toBe(200)
    const api = 'https://api.example.com/'
    const server = await app.grantor.createClient({ resourceServer: app.grantor.authUrl, exchangeResources: [api] })
    const exchange = { subject_token: tokens.access_token, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' }
    expect((await app.walk.token(server, { grant_type: TOKEN_EXCHANGE, resource: api, ...exchange })).status).toBe(200)
  })

  test.each(['token', 'revocation', 'introspection'])(
    'Each algorithm in %s_endpoint_auth_signing_alg_values_supported authenticates a client at that endpoint',
    async (endpoint) => {
      const algorithms = list(`${endpoint}_endpoint_auth_signing_alg_values_supported`)
      expect(algorithms).toEqual(['ES256', 'PS256', 'EdDSA'])
      for (const alg of algorithms as TestKey['alg'][]) {
        const key = newClientKey(alg)
        const grantTypes: GrantType[] = ['client_credentials']
        const own = await app.grantor.createClient({
          redirectUris: [],
          grantTypes,
          authMethod: 'private_key_jwt',
          jwks: { keys: [key.jwk] },
        })
        const assertion = asserting(await assertionOf(app.grantor, own.id, key))
        const body = { token: 'x', grant_type: 'client_credentials', ...assertion }
        const { status } = await post(app.grantor, pathOf(`${endpoint}_endpoint`), body)
        expect({ alg, status }).toEqual({ alg, status: 200 })
      }
    },
  )

  test('Each algorithm in authorization_signing_alg_values_supported signs the response to a client registered for it (JARM §4)', async () => {
    const algorithms = list('authorization_signing_alg_values_supported') as SigningAlgorithm[]
    expect(algorithms).toEqual(['ES256', 'RS256', 'EdDSA'])
    for (const authorizationAlgorithm of algorithms) {
      const own = await app.grantor.createClient({ authorizationAlgorithm })
      const { location } = await app.walk.authorize(requestOf(own, { response_mode: 'jwt' }))
      expect(decodeProtectedHeader(parameterOf(location, 'response')).alg).toBe(authorizationAlgorithm)
    }
  })

  test('Each algorithm in introspection_signing_alg_values_supported signs the response to a client registered for it (RFC 9701 §7)', async () => {
    const algorithms = list('introspection_signing_alg_values_supported') as SigningAlgorithm[]
    expect(algorithms).toEqual(['ES256', 'RS256', 'EdDSA'])
    for (const introspectionSigned of algorithms) {
      const own = await app.grantor.createClient({ introspectionSigned })
      const accept = { accept: 'application/token-introspection+jwt' }
      const { body } = await app.walk.call(pathOf('introspection_endpoint'), own, { token: 'x' }, accept)
      expect(decodeProtectedHeader(body).alg).toBe(introspectionSigned)
    }
  })

  test('A client with any method in token_endpoint_auth_methods_supported gets tokens', async () => {
    expect(list('token_endpoint_auth_methods_supported').toSorted()).toEqual(Object.keys(clients).sort())
    for (const method of list('token_endpoint_auth_methods_supported')) {
      const client = clients[method] as TestClient
      const code = await app.freshCode(PKCE, client)
      const redirect_uri = client.redirectUris[0] ?? ''
      const answer = await callWith(method, '/oauth/token', {
        grant_type: 'authorization_code',
        code,
        redirect_uri,
        code_verifier: CODE_VERIFIER,
      })
      expect({ method, status: answer.status }).toEqual({ method, status: 200 })
      const { refresh_token } = tokensOf(answer)
      expect((await callWith(method, '/oauth/token', { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
    }
  })

  test.each(['revocation', 'introspection'])(
    'Exactly the methods in %s_endpoint_auth_methods_supported are accepted at that endpoint',
    async (endpoint) => {
      const supported = list(`${endpoint}_endpoint_auth_methods_supported`)
      for (const method of Object.keys(clients)) {
        const { status } = await callWith(method, pathOf(`${endpoint}_endpoint`), { token: 'x' })
        expect({ method, status }).toEqual({ method, status: supported.includes(method) ? 200 : 401 })
      }
    },
  )

  test('The only method in code_challenge_methods_supported is S256, and plain is refused (RFC 7636 §6.2)', async () => {
    expect(metadata.code_challenge_methods_supported).toEqual(['S256'])
    const plain = await app.walk.authorize(
      requestOf(app.client, { code_challenge: CODE_VERIFIER, code_challenge_method: 'plain' }),
    )
    expect(parameterOf(plain.location, 'error')).toBe('invalid_request')
  })

  test('Codes and errors come with `iss`, as authorization_response_iss_parameter_supported states (RFC 9207 §3)', async () => {
    expect(metadata.authorization_response_iss_parameter_supported).toBe(true)
    for (const more of [{}, { scope: 'unknown' }]) {
      const { location } = await app.walk.authorize(requestOf(app.client, { response_type: 'code', ...more }))
      expect(parameterOf(location, 'iss')).toBe(metadata.issuer)
    }
  })

  test('Each value in prompt_values_supported has the effect that OpenID Connect Core §3.1.2.1 defines', async () => {
    const outcomes: Record<string, (location: string, body: string) => boolean> = {
      none: (location) => parameterOf(location, 'code') !== '',
      login: (location) => location.startsWith(`${app.grantor.loginUrl}/login?login_challenge=`),
      select_account: (location) => location.startsWith(`${app.grantor.loginUrl}/login?login_challenge=`),
      consent: (_, body) => body.includes('action="/oauth/authorize/confirm"'),
    }
    expect(list('prompt_values_supported').toSorted()).toEqual(Object.keys(outcomes).sort())
    for (const prompt of list('prompt_values_supported')) {
      const { location, body } = await app.walk.authorize(requestOf(app.client, { prompt }))
      expect({ prompt, asDefined: outcomes[prompt]?.(location, body) }).toEqual({ prompt, asDefined: true })
    }
  })
})

describe('The OpenID configuration (OpenID Connect Discovery §3)', () => {
  let openid: Record<string, unknown>
  beforeAll(async () => {
    openid = (await send(app.grantor.authUrl, { path: OPENID_PATH })).json()
  })

  test('The OpenID configuration repeats the server metadata and adds exactly the members for OpenID Connect', async () => {
    const openIdOnly = Object.fromEntries(Object.entries(openid).filter(([member]) => !(member in metadata)))
    expect({ ...metadata, ...openIdOnly }).toEqual(openid)
    expect(openIdOnly).toEqual({
      userinfo_endpoint: `${app.grantor.authUrl}/oauth/userinfo`,
      end_session_endpoint: `${app.grantor.authUrl}/oauth/logout`,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA'],
      claim_types_supported: ['normal'],
      claims_supported: expect.any(Array),
      ui_locales_supported: ['en', 'es', 'pt', 'fr', 'de', 'tr', 'vi', 'ja', 'ko', 'zh-Hans', 'ar'],
      claims_parameter_supported: false,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
  })

  test('The claims in claims_supported are exactly those of an ID token with the scopes openid, wallet and profile, and the two of userinfo with scope siwe', async () => {
    const client = await app.grantor.createClient({ scopes: ['openid', 'wallet', 'profile'] })
    const parameters = { scope: 'openid wallet profile', response_type: 'code', nonce: 'n' }
    const { id_token } = (await app.freshTokens(parameters, client)) as unknown as { id_token: string }
    const claims = [...Object.keys(claimsOf(id_token)), 'siwe_message', 'siwe_signature']
    expect(claims.toSorted()).toEqual((openid.claims_supported as string[]).toSorted())
  })
})

describe('The metadata response (RFC 8414 §3.2)', () => {
  test.each([PATH, OPENID_PATH])('The metadata are JSON that caches may keep for 30 seconds: %s', async (path) => {
    const answer = await send(app.grantor.authUrl, { path })
    expect(answer.status).toBe(200)
    const { 'content-type': type, 'cache-control': caching, ...others } = headersOf(answer)
    // A new key is announced for longer than this before it signs.
    expect([type, caching]).toEqual(['application/json; charset=utf-8', 'public, max-age=30'])
    expect(others).toEqual({
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'x-request-id, retry-after',
    })
  })

  test('HEAD returns the same status and headers as GET, without the body (RFC 9110 §9.3.2)', async () => {
    for (const path of [PATH, '/oauth/jwks']) {
      const [get, head] = [await send(app.grantor.authUrl, { path }), await send(app.grantor.authUrl, { method: 'HEAD', path })]
      expect({ status: head.status, body: head.body, headers: headersOf(head) }).toEqual({
        status: 200,
        body: '',
        headers: headersOf(get),
      })
    }
  })

  test.each(['Host', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded'])(
    'No URL in the metadata, and no redirect to the login page, comes from the header %s',
    async (header) => {
      const value =
        {
          Host: 'evil.example.org',
          'X-Forwarded-Host': 'evil.example.org',
          'X-Forwarded-Proto': 'https',
          Forwarded: 'host=evil.example.org;proto=https',
        }[header] ?? ''
      const answer = await send(app.grantor.authUrl, { path: PATH, headers: { [header.toLowerCase()]: value } })
      expect(answer.json()).toEqual(metadata)
      const login = await send(app.grantor.authUrl, {
        path: `/oauth/authorize?client_id=${app.client.id}&redirect_uri=${app.client.redirectUris[0]}`,
        headers: { [header.toLowerCase()]: value },
      })
      expect(login.location.startsWith(`${app.grantor.loginUrl}/login?`)).toBe(true)
    },
  )
})
