import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SigningAlgorithm } from '../../src/keys/signing-key.ts'
import type { GrantType } from '../../src/oauth/grant-types.ts'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { asserting, assertionOf, newClientKey, post, type TestKey } from '../support/client-key.ts'
import { headersOf } from '../support/refusals.ts'
import { send } from '../support/send.ts'
import type { TestClient } from '../support/start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, requestOf } from '../support/walk.ts'

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

/** A client by one of the methods of RFC 6749 §2.3.1 and §3.2.1, or by its key. */
async function callWith(method: string, path: string, body: Record<string, string>) {
  const client = clients[method] as TestClient
  if (method === 'private_key_jwt')
    return post(app.grantor, path, { ...body, ...asserting(await assertionOf(app.grantor, client.id, key)) })
  if (method !== 'client_secret_post') return app.walk.call(path, client, body)
  return app.walk.call(path, { ...client, secret: '' }, { ...body, client_secret: client.secret })
}

// Those of pushed and signed requests are walked in metadata-requests.test.ts, that of DPoP in dpop-proof.test.ts.
test('exactly these members are named: every one of them is walked below', () => {
  expect(Object.keys(metadata).sort()).toEqual(
    [
      'authorization_endpoint',
      'authorization_response_iss_parameter_supported',
      'authorization_signing_alg_values_supported',
      'code_challenge_methods_supported',
      'dpop_signing_alg_values_supported',
      'grant_types_supported',
      'introspection_endpoint',
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

describe('server metadata says only what works (RFC 8414 §2)', () => {
  test('issuer: the origin it was fetched from, as in tokens and as `iss` (RFC 8414 §3.3, RFC 9207 §2)', async () => {
    expect(metadata.issuer).toBe(app.grantor.authUrl)
    expect((await app.walk.introspect(app.client, (await app.freshTokens()).access_token)).json().iss).toBe(metadata.issuer)
  })

  test('every endpoint lies under the issuer and answers there', async () => {
    const endpoints = Object.keys(metadata).filter((member) => member.endsWith('_endpoint') || member.endsWith('_uri'))
    expect(endpoints).toHaveLength(6)
    for (const member of endpoints) {
      expect(text(member).startsWith(`${text('issuer')}/oauth/`)).toBe(true)
      const method = ['authorization_endpoint', 'jwks_uri'].includes(member) ? 'GET' : 'POST'
      expect([200, 400, 415]).toContain((await send(app.grantor.authUrl, { method, path: pathOf(member) })).status)
    }
  })

  test('jwks_uri: its keys verify an access token as RFC 9068 §4 asks', async () => {
    const { access_token } = await app.freshTokens()
    const { payload } = await jwtVerify(access_token, createRemoteJWKSet(new URL(text('jwks_uri'))), {
      issuer: text('issuer'),
      audience: app.grantor.authUrl,
      typ: 'at+jwt',
      currentDate: new Date(app.grantor.clock.now() * 1000),
    })
    expect(Object.keys(payload).sort()).toEqual(['aud', 'client_id', 'exp', 'grant_id', 'iat', 'iss', 'jti', 'scope', 'sub'])
  })

  test('scopes_supported: each can be registered and granted', async () => {
    expect(metadata.scopes_supported).toEqual(expect.arrayContaining(['enhancement', 'openid', 'wallet']))
    const all = await app.grantor.createClient({ scopes: list('scopes_supported') })
    for (const scope of list('scopes_supported'))
      expect((await app.freshTokens({ scope, response_type: 'code' }, all)).scope).toBe(scope)
  })

  test('response_types_supported and response_modes_supported: a code, in each of the modes', async () => {
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

  test('grant_types_supported: each gives tokens', async () => {
    expect(metadata.grant_types_supported).toEqual(['authorization_code', 'refresh_token', 'client_credentials'])
    const tokens = await app.freshTokens()
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
    const own = await app.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
    expect((await app.walk.token(own, { grant_type: 'client_credentials' })).status).toBe(200)
  })

  test.each(['token', 'revocation', 'introspection'])(
    '%s_endpoint_auth_signing_alg_values_supported: each is taken there',
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

  test('authorization_signing_alg_values_supported: each signs a response for a client that is registered for it (JARM §4)', async () => {
    const algorithms = list('authorization_signing_alg_values_supported') as SigningAlgorithm[]
    expect(algorithms).toEqual(['ES256', 'RS256', 'EdDSA'])
    for (const authorizationAlgorithm of algorithms) {
      const own = await app.grantor.createClient({ authorizationAlgorithm })
      const { location } = await app.walk.authorize(requestOf(own, { response_mode: 'jwt' }))
      expect(decodeProtectedHeader(parameterOf(location, 'response')).alg).toBe(authorizationAlgorithm)
    }
  })

  test('introspection_signing_alg_values_supported: each signs an answer for a client that is registered for it (RFC 9701 §7)', async () => {
    const algorithms = list('introspection_signing_alg_values_supported') as SigningAlgorithm[]
    expect(algorithms).toEqual(['ES256', 'RS256', 'EdDSA'])
    for (const introspectionSigned of algorithms) {
      const own = await app.grantor.createClient({ introspectionSigned })
      const accept = { accept: 'application/token-introspection+jwt' }
      const { body } = await app.walk.call(pathOf('introspection_endpoint'), own, { token: 'x' }, accept)
      expect(decodeProtectedHeader(body).alg).toBe(introspectionSigned)
    }
  })

  test('token_endpoint_auth_methods_supported: a client of each kind gets tokens', async () => {
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
    '%s_endpoint_auth_methods_supported: each is taken there, and no other',
    async (endpoint) => {
      const supported = list(`${endpoint}_endpoint_auth_methods_supported`)
      for (const method of Object.keys(clients)) {
        const { status } = await callWith(method, pathOf(`${endpoint}_endpoint`), { token: 'x' })
        expect({ method, status }).toEqual({ method, status: supported.includes(method) ? 200 : 401 })
      }
    },
  )

  test('code_challenge_methods_supported: S256, and not plain (RFC 7636 §6.2)', async () => {
    expect(metadata.code_challenge_methods_supported).toEqual(['S256'])
    const plain = await app.walk.authorize(
      requestOf(app.client, { code_challenge: CODE_VERIFIER, code_challenge_method: 'plain' }),
    )
    expect(parameterOf(plain.location, 'error')).toBe('invalid_request')
  })

  test('authorization_response_iss_parameter_supported: `iss` comes with codes and with errors (RFC 9207 §3)', async () => {
    expect(metadata.authorization_response_iss_parameter_supported).toBe(true)
    for (const more of [{}, { scope: 'unknown' }]) {
      const { location } = await app.walk.authorize(requestOf(app.client, { response_type: 'code', ...more }))
      expect(parameterOf(location, 'iss')).toBe(metadata.issuer)
    }
  })

  test('prompt_values_supported: each does what OpenID Connect Core §3.1.2.1 says', async () => {
    const outcomes: Record<string, (location: string, body: string) => boolean> = {
      none: (location) => parameterOf(location, 'code') !== '',
      login: (location) => location.startsWith(`${app.grantor.loginUrl}/login?login_challenge=`),
      select_account: (location) => location.startsWith(`${app.grantor.loginUrl}/login?login_challenge=`),
      consent: (_, body) => body.includes('action="/oauth/authorize/confirm"'),
    }
    expect(list('prompt_values_supported').toSorted()).toEqual(Object.keys(outcomes).sort())
    for (const prompt of list('prompt_values_supported')) {
      const { location, body } = await app.walk.authorize(requestOf(app.client, { prompt }))
      expect({ prompt, holds: outcomes[prompt]?.(location, body) }).toEqual({ prompt, holds: true })
    }
  })
})

describe('the OpenID configuration (OpenID Connect Discovery §3)', () => {
  let openid: Record<string, unknown>
  beforeAll(async () => {
    openid = (await send(app.grantor.authUrl, { path: OPENID_PATH })).json()
  })

  test('says the same as the server metadata, and exactly this besides; what is named works (test/http/openid, logout)', async () => {
    const besides = Object.fromEntries(Object.entries(openid).filter(([member]) => !(member in metadata)))
    expect({ ...metadata, ...besides }).toEqual(openid)
    expect(besides).toEqual({
      userinfo_endpoint: `${app.grantor.authUrl}/oauth/userinfo`,
      end_session_endpoint: `${app.grantor.authUrl}/oauth/logout`,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA'],
      acr_values_supported: ['urn:grantor:acr:signature', 'urn:grantor:acr:vouched'],
      claim_types_supported: ['normal'],
      claims_supported: expect.any(Array),
      ui_locales_supported: ['en'],
      claims_parameter_supported: false,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
  })

  test('claims_supported: each is in an ID token or a userinfo answer, and none besides', async () => {
    const client = await app.grantor.createClient({ scopes: ['openid', 'wallet'] })
    const asked = { scope: 'openid wallet', response_type: 'code', nonce: 'n' }
    const { id_token } = (await app.freshTokens(asked, client)) as unknown as { id_token: string }
    expect(Object.keys(claimsOf(id_token)).sort()).toEqual((openid.claims_supported as string[]).toSorted())
  })
})

describe('how it is served (RFC 8414 §3.2)', () => {
  test.each([PATH, OPENID_PATH])(
    'as JSON, to be kept for half a minute: no longer than a new key is announced before it signs',
    async (path) => {
      const answer = await send(app.grantor.authUrl, { path })
      expect(answer.status).toBe(200)
      const { 'content-type': type, 'cache-control': kept, ...others } = headersOf(answer)
      expect([type, kept]).toEqual(['application/json; charset=utf-8', 'public, max-age=30'])
      expect(others).toEqual({
        'x-content-type-options': 'nosniff',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'x-request-id, retry-after',
      })
    },
  )

  test('HEAD tells the same without the body (RFC 9110 §9.3.2)', async () => {
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
    'no URL in it comes from the %s header',
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
