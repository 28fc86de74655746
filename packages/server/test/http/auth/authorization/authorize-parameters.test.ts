/** The parameters of an authorization request: which are accepted, how often, and the error for a wrong one (RFC 6749 §3.1, §4.1.2.1). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, encode, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

const KNOWN = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'response_mode',
  'nonce',
  'max_age',
  'login_hint',
  'id_token_hint',
  'request',
  'request_uri',
  'registration',
] as const

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({
    scopes: ['enhancement', 'profile', 'a.b_c-1'],
    resources: ['https://api.example.com/', 'urn:x:y'],
  })
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

/** Expects this error and `state` at the redirect URI, for a browser with a session and for one without. */
async function expectErrorAtApp(parameters: Record<string, string | string[]>, error: string, of = client): Promise<void> {
  for (const browser of [walk, new Walk(grantor)]) {
    const { status, location, headers } = await browser.authorize(requestOf(of, { state: 'kept', ...parameters }))
    expect(status).toBe(302)
    expect(location.startsWith(`${of.redirectUris[0]}?error=`)).toBe(true)
    expect(parameterOf(location, 'error')).toBe(error)
    expect(parameterOf(location, 'state')).toBe('kept')
    expect(location).not.toContain('code=')
    expect(headers).not.toHaveProperty('set-cookie')
    // the characters that error_description may contain (RFC 6749 §4.1.2.1)
    expect(parameterOf(location, 'error_description')).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  }
}

async function codeFor(parameters: Record<string, string | string[]>, of = client): Promise<string> {
  const { status, location } = await walk.authorize(requestOf(of, parameters))
  expect(status).toBe(302)
  expect(location).not.toContain('error')
  return parameterOf(location, 'code')
}

/** The token response for the code that this request gets. */
async function requestTokens(parameters: Record<string, string | string[]>, of = client): Promise<Record<string, unknown>> {
  const verifier = parameters.code_challenge ? { code_verifier: CODE_VERIFIER } : {}
  const answer = await walk.exchange(of, await codeFor(parameters, of), verifier)
  expect(answer.status).toBe(200)
  return answer.json()
}

describe('Repeated parameters of an authorization request (RFC 6749 §3.1)', () => {
  const others = Object.fromEntries(KNOWN.map((name) => [name, 'x']))
  const usual = { response_type: 'code', scope: 'enhancement', state: 's', prompt: 'login' }
  const whole = () => ({ ...others, ...requestOf(client, PKCE), ...usual })

  test.each(KNOWN)(
    'An authorization request with %s twice, both the same, is 400 with an error page and no redirect (RFC 6749 §3.1)',
    async (name) => {
      for (const browser of [walk, new Walk(grantor)]) {
        const query = encode(whole())
        const answer = await browser.authorize(`${query}&${encode({ [name]: (whole() as Record<string, string>)[name] ?? '' })}`)
        expect(answer.status).toBe(400)
        expect(answer.headers).not.toHaveProperty('location')
        expect(noticeOf(answer)).toBe('malformed_request')
      }
    },
  )

  test.each(KNOWN)(
    'An authorization request with a second %s that is empty, escaped or without an equals sign is 400 (RFC 6749 §3.1)',
    async (name) => {
      for (const again of [`${name}=`, name, `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=x`]) {
        const answer = await walk.authorize(`${encode(whole())}&${again}`)
        expect(answer.status).toBe(400)
        expect(noticeOf(answer)).toBe('malformed_request')
      }
    },
  )

  test('An authorization request may repeat the parameter resource, even with the same value (RFC 8707 §2)', async () => {
    expect(await codeFor({ resource: ['https://api.example.com/', 'urn:x:y', 'urn:x:y'] })).not.toBe('')
  })
})

describe('Unknown and empty parameters of an authorization request (RFC 6749 §3.1)', () => {
  test('Unknown parameters of an authorization request are ignored, even if repeated, empty, not UTF-8 or named __proto__ (RFC 6749 §3.1)', async () => {
    const query = `${encode(requestOf(client))}&foo=1&foo=2&bar&=&=x&%FF=%FF&%FF=1&State=a&State=b&__proto__=1&constructor=x&&&request=&claims=n&claims=m`
    const { status, location } = await walk.authorize(query)
    expect(status).toBe(302)
    expect(location.replace(/code=[^&]+$/, '')).toBe(`${client.redirectUris[0]}?`)
  })

  test('Optional parameters of an authorization request that are empty count as absent (RFC 6749 §3.1)', async () => {
    const empty = {
      response_type: '',
      scope: '',
      state: '',
      code_challenge: '',
      code_challenge_method: '',
      prompt: '',
      resource: ['', ''],
    }
    const tokens = await requestTokens(empty)
    expect(tokens.scope).toBe('enhancement')
  })

  test('An authorization request with an empty client_id or redirect_uri is 400', async () => {
    expect((await walk.authorize({ client_id: client.id, redirect_uri: '' })).status).toBe(400)
    expect((await walk.authorize({ client_id: '', redirect_uri: client.redirectUris[0] ?? '' })).status).toBe(400)
  })

  test.each(KNOWN.slice(2).filter((name) => name !== 'state'))(
    'An authorization request whose %s is not UTF-8 gets invalid_request at the redirect URI',
    async (name) => {
      const { status, location } = await walk.authorize(`${encode(requestOf(client))}&${name}=%C3%28`)
      expect(status).toBe(302)
      expect(parameterOf(location, 'error')).toBe('invalid_request')
      expect(location).not.toContain('code=')
    },
  )
})

describe('The parameter response_type (RFC 6749 §4.1.1, §3.1.1)', () => {
  test.each([
    'token',
    'id_token',
    'none',
    'CODE',
    'Code',
    ' code',
    'code ',
    'code token',
    'code id_token',
    'code code',
    'code\0',
    'cоde',
  ])(
    'The response_type %j gets unsupported_response_type at the redirect URI (RFC 6749 §3.1.1, §4.1.2.1)',
    async (response_type) => {
      await expectErrorAtApp({ response_type }, 'unsupported_response_type')
    },
  )

  test('An authorization request without response_type gets a code, as with response_type=code', async () => {
    expect(await requestTokens({ response_type: 'code' })).toMatchObject({ scope: 'enhancement', token_type: 'Bearer' })
    expect(await requestTokens({})).toMatchObject({ scope: 'enhancement', token_type: 'Bearer' })
  })

  test('A client that is not registered for the authorization code grant gets unauthorized_client (RFC 6749 §4.1.2.1)', async () => {
    const server = await grantor.createClient({ grantTypes: [], resourceServer: 'https://api.example.com/' })
    await expectErrorAtApp({}, 'unauthorized_client', server)
  })
})

describe('The parameters of PKCE (RFC 7636 §4.3, RFC 9700 §2.1.1)', () => {
  test.each([
    ['the code_challenge_method plain', { ...PKCE, code_challenge_method: 'plain' }],
    ['no code_challenge_method, which would mean plain', { code_challenge: PKCE.code_challenge }],
    ['the code_challenge_method S256 in lower case', { ...PKCE, code_challenge_method: 's256' }],
    ['an unknown code_challenge_method', { ...PKCE, code_challenge_method: 'S512' }],
    ['a code_challenge_method without a code_challenge', { code_challenge_method: 'S256' }],
    ['a code_challenge_method and an empty code_challenge', { code_challenge: '', code_challenge_method: 'S256' }],
    ['a code_challenge of 42 characters', { ...PKCE, code_challenge: 'a'.repeat(42) }],
    ['a code_challenge of 44 characters', { ...PKCE, code_challenge: 'a'.repeat(44) }],
    ['a code_challenge with padding', { ...PKCE, code_challenge: `${'a'.repeat(43)}=` }],
    [
      'a code_challenge with characters of base64 that base64url does not use',
      { ...PKCE, code_challenge: `${'a'.repeat(41)}+/` },
    ],
    ['a code_challenge with a line break at its end', { ...PKCE, code_challenge: `${PKCE.code_challenge}\n` }],
  ])(
    'An authorization request with %s gets invalid_request, for confidential and public clients (RFC 7636 §4.4.1)',
    async (_, parameters) => {
      const open = await grantor.createClient({ type: 'public' })
      await expectErrorAtApp(parameters, 'invalid_request')
      await expectErrorAtApp(parameters, 'invalid_request', open)
    },
  )

  test.each([{ type: 'public' }, { type: 'native' }, { type: 'confidential', requirePkce: true }] as const)(
    'A client registered as %o gets invalid_request without a code_challenge, and no error with one (RFC 9700 §2.1.1)',
    async (kind) => {
      const strict = await grantor.createClient(kind)
      await expectErrorAtApp({}, 'invalid_request', strict)
      const answer = await walk.authorize(requestOf(strict, PKCE))
      expect(answer.location).not.toContain('error')
    },
  )

  test('A confidential client may omit code_challenge; if it sends one, its code needs the code_verifier (RFC 7636 §4.6)', async () => {
    expect(await requestTokens({})).toHaveProperty('access_token')
    const without = await walk.exchange(client, await codeFor(PKCE))
    expect(without.status).toBe(400)
    expect(without.json()).toMatchObject({ error: 'invalid_grant' })
    expect(await requestTokens(PKCE)).toHaveProperty('access_token')
  })

  test('The code_challenge of a request is enforced for a code that is issued after a login (RFC 7636 §4.6)', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client, PKCE))
    expect((await browser.exchange(client, code, { code_verifier: CODE_VERIFIER.replace('a', 'b') })).json()).toMatchObject({
      error: 'invalid_grant',
    })
  })
})

describe('The parameter scope (RFC 6749 §3.3)', () => {
  test('An authorization request without scope is for the client’s default scopes (RFC 6749 §3.3)', async () => {
    expect((await requestTokens({})).scope).toBe('enhancement')
    const two = await grantor.createClient({ scopes: ['profile', 'enhancement'], defaultScopes: ['profile', 'enhancement'] })
    expect((await requestTokens({}, two)).scope).toBe('profile enhancement')
  })

  test.each([
    ['profile', 'profile'],
    ['profile enhancement', 'profile enhancement'],
    ['profile profile', 'profile'],
    ['a.b_c-1', 'a.b_c-1'],
  ])('The requested scope "%s" is granted as "%s" (RFC 6749 §3.3)', async (scope, given) => {
    expect((await requestTokens({ scope })).scope).toBe(given)
  })

  test.each([
    'admin',
    'enhancement admin',
    'Enhancement',
    'enhancement,profile',
    ' enhancement',
    'enhancement ',
    'enhancement  profile',
    'enhancement\tprofile',
    'enhancement\n',
    '"enhancement"',
    'enh\\ancement',
    'ënhancement',
    ' ',
    '*',
    '__proto__',
    'openid',
  ])('The requested scope %j gets invalid_scope at the redirect URI (RFC 6749 §4.1.2.1)', async (scope) => {
    await expectErrorAtApp({ scope }, 'invalid_scope')
  })
})

describe('The parameter resource (RFC 8707 §2)', () => {
  const audience = (tokens: Record<string, unknown>) =>
    (JSON.parse(Buffer.from((tokens.access_token as string).split('.')[1] ?? '', 'base64url').toString()) as { aud: unknown }).aud

  test('A token’s audience is the default resource if the request names none; every client may also name that resource (RFC 8707 §2)', async () => {
    expect(audience(await requestTokens({}))).toBe(grantor.authUrl)
    expect(audience(await requestTokens({ resource: grantor.authUrl }))).toBe(grantor.authUrl)
  })

  test('A requested resource that is registered for the client becomes the token’s audience (RFC 8707 §2)', async () => {
    expect(audience(await requestTokens({ resource: 'https://api.example.com/' }))).toBe('https://api.example.com/')
    expect(audience(await requestTokens({ resource: ['', 'urn:x:y'] }))).toBe('urn:x:y')
  })

  test.each([
    'https://other.example.com/',
    'https://api.example.com',
    'https://api.example.com/#x',
    'https://API.example.com/',
    'https://api.example.com/a',
    '/relative',
    'api',
    'https://',
    ' ',
    '*',
  ])('The resource "%s" gets invalid_target, alone and together with a registered resource (RFC 8707 §2)', async (resource) => {
    await expectErrorAtApp({ resource }, 'invalid_target')
    await expectErrorAtApp({ resource: ['https://api.example.com/', resource] }, 'invalid_target')
  })
})
