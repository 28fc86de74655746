/** Which parameters an authorization request may have, how often, and what a wrong one is answered (RFC 6749 §3.1, §4.1.2.1). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { CODE_VERIFIER, encode, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../support/walk.ts'

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

/** The request is answered at the redirect URI with this error, `state` beside it, for a browser with and without a session. */
async function refusedAtTheApp(asked: Record<string, string | string[]>, error: string, of = client): Promise<void> {
  for (const browser of [walk, new Walk(grantor)]) {
    const { status, location, headers } = await browser.authorize(requestOf(of, { state: 'kept', ...asked }))
    expect(status).toBe(302)
    expect(location.startsWith(`${of.redirectUris[0]}?error=`)).toBe(true)
    expect(parameterOf(location, 'error')).toBe(error)
    expect(parameterOf(location, 'state')).toBe('kept')
    expect(location).not.toContain('code=')
    expect(headers).not.toHaveProperty('set-cookie')
    // RFC 6749 §4.1.2.1: the characters of error_description
    expect(parameterOf(location, 'error_description')).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  }
}

async function codeFor(asked: Record<string, string | string[]>, of = client): Promise<string> {
  const { status, location } = await walk.authorize(requestOf(of, asked))
  expect(status).toBe(302)
  expect(location).not.toContain('error')
  return parameterOf(location, 'code')
}

/** What a code for this request is worth: the token answer it is redeemed for. */
async function granted(asked: Record<string, string | string[]>, of = client): Promise<Record<string, unknown>> {
  const verifier = asked.code_challenge ? { code_verifier: CODE_VERIFIER } : {}
  const answer = await walk.exchange(of, await codeFor(asked, of), verifier)
  expect(answer.status).toBe(200)
  return answer.json()
}

describe('a parameter the service knows, sent twice, is refused with a page and no redirect (RFC 6749 §3.1)', () => {
  const others = Object.fromEntries(KNOWN.map((name) => [name, 'x']))
  const usual = { response_type: 'code', scope: 'enhancement', state: 's', prompt: 'login' }
  const whole = () => ({ ...others, ...requestOf(client, PKCE), ...usual })

  test.each(KNOWN)('%s, twice the same', async (name) => {
    for (const browser of [walk, new Walk(grantor)]) {
      const query = encode(whole())
      const answer = await browser.authorize(`${query}&${encode({ [name]: (whole() as Record<string, string>)[name] ?? '' })}`)
      expect(answer.status).toBe(400)
      expect(answer.headers).not.toHaveProperty('location')
      expect(noticeOf(answer)).toBe('malformed_request')
    }
  })

  test.each(KNOWN)('%s, once more in disguise: empty, escaped, or without an equals sign', async (name) => {
    for (const again of [`${name}=`, name, `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=x`]) {
      const answer = await walk.authorize(`${encode(whole())}&${again}`)
      expect(answer.status).toBe(400)
      expect(noticeOf(answer)).toBe('malformed_request')
    }
  })

  test('resource may come more than once (RFC 8707 §2), the same one too', async () => {
    expect(await codeFor({ resource: ['https://api.example.com/', 'urn:x:y', 'urn:x:y'] })).not.toBe('')
  })
})

describe('unknown parameters are ignored, empty ones count as absent (RFC 6749 §3.1)', () => {
  test('unknown ones, once, twice, empty, not UTF-8, in another case, or named after the language', async () => {
    const query = `${encode(requestOf(client))}&foo=1&foo=2&bar&=&=x&%FF=%FF&%FF=1&State=a&State=b&__proto__=1&constructor=x&&&request=&claims=n&claims=m&ui_locales=%FF`
    const { status, location } = await walk.authorize(query)
    expect(status).toBe(302)
    expect(location.replace(/code=[^&]+$/, '')).toBe(`${client.redirectUris[0]}?`)
  })

  test('every optional parameter sent empty is the bare request', async () => {
    const empty = {
      response_type: '',
      scope: '',
      state: '',
      code_challenge: '',
      code_challenge_method: '',
      prompt: '',
      resource: ['', ''],
    }
    const tokens = await granted(empty)
    expect(tokens.scope).toBe('enhancement')
  })

  test('an empty parameter does not stand in for a required one', async () => {
    expect((await walk.authorize({ client_id: client.id, redirect_uri: '' })).status).toBe(400)
    expect((await walk.authorize({ client_id: '', redirect_uri: client.redirectUris[0] ?? '' })).status).toBe(400)
  })

  test.each(KNOWN.slice(2).filter((name) => name !== 'state'))('%s that is not UTF-8 is refused at the app', async (name) => {
    const { status, location } = await walk.authorize(`${encode(requestOf(client))}&${name}=%C3%28`)
    expect(status).toBe(302)
    expect(parameterOf(location, 'error')).toBe('invalid_request')
    expect(location).not.toContain('code=')
  })
})

describe('response_type: absent or code, and nothing else (RFC 6749 §4.1.1, §3.1.1)', () => {
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
  ])('%j is unsupported_response_type', async (response_type) => {
    await refusedAtTheApp({ response_type }, 'unsupported_response_type')
  })

  test('code is what an absent one means', async () => {
    expect(await granted({ response_type: 'code' })).toMatchObject({ scope: 'enhancement', token_type: 'Bearer' })
    expect(await granted({})).toMatchObject({ scope: 'enhancement', token_type: 'Bearer' })
  })

  test('a client that may not use the grant is refused (RFC 6749 §4.1.2.1)', async () => {
    const server = await grantor.createClient({ grantTypes: [], resourceServer: 'https://api.example.com/' })
    await refusedAtTheApp({}, 'unauthorized_client', server)
  })
})

describe('PKCE: S256 only, required where a secret cannot be kept or the client’s record says so (RFC 7636 §4.3, RFC 9700 §2.1.1)', () => {
  test.each([
    ['plain', { ...PKCE, code_challenge_method: 'plain' }],
    ['no method, which would mean plain', { code_challenge: PKCE.code_challenge }],
    ['S256 in another case', { ...PKCE, code_challenge_method: 's256' }],
    ['an unknown method', { ...PKCE, code_challenge_method: 'S512' }],
    ['a method without a challenge', { code_challenge_method: 'S256' }],
    ['a method with an empty challenge', { code_challenge: '', code_challenge_method: 'S256' }],
    ['42 characters', { ...PKCE, code_challenge: 'a'.repeat(42) }],
    ['44 characters', { ...PKCE, code_challenge: 'a'.repeat(44) }],
    ['padding', { ...PKCE, code_challenge: `${'a'.repeat(43)}=` }],
    ['the alphabet of plain base64', { ...PKCE, code_challenge: `${'a'.repeat(41)}+/` }],
    ['a line break behind it', { ...PKCE, code_challenge: `${PKCE.code_challenge}\n` }],
  ])('%s is invalid_request, for every kind of client', async (_, asked) => {
    const open = await grantor.createClient({ type: 'public' })
    await refusedAtTheApp(asked, 'invalid_request')
    await refusedAtTheApp(asked, 'invalid_request', open)
  })

  test.each([{ type: 'public' }, { type: 'native' }, { type: 'confidential', requirePkce: true }] as const)(
    '%o must send a challenge',
    async (kind) => {
      const strict = await grantor.createClient(kind)
      await refusedAtTheApp({}, 'invalid_request', strict)
      const asked = await walk.authorize(requestOf(strict, PKCE))
      expect(asked.location).not.toContain('error')
    },
  )

  test('a confidential client may go without, and once it sent one the verifier is enforced', async () => {
    expect(await granted({})).toHaveProperty('access_token')
    const without = await walk.exchange(client, await codeFor(PKCE))
    expect(without.status).toBe(400)
    expect(without.json()).toMatchObject({ error: 'invalid_grant' })
    expect(await granted(PKCE)).toHaveProperty('access_token')
  })

  test('a challenge survives the login', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client, PKCE))
    expect((await browser.exchange(client, code, { code_verifier: CODE_VERIFIER.replace('a', 'b') })).json()).toMatchObject({
      error: 'invalid_grant',
    })
  })
})

describe('scope (RFC 6749 §3.3)', () => {
  test('absent means the client’s default scopes', async () => {
    expect((await granted({})).scope).toBe('enhancement')
    const two = await grantor.createClient({ scopes: ['profile', 'enhancement'], defaultScopes: ['profile', 'enhancement'] })
    expect((await granted({}, two)).scope).toBe('profile enhancement')
  })

  test.each([
    ['profile', 'profile'],
    ['profile enhancement', 'profile enhancement'],
    ['profile profile', 'profile'],
    ['a.b_c-1', 'a.b_c-1'],
  ])('%s is granted as %s', async (scope, given) => {
    expect((await granted({ scope })).scope).toBe(given)
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
  ])('%j is invalid_scope', async (scope) => {
    await refusedAtTheApp({ scope }, 'invalid_scope')
  })
})

describe('resource (RFC 8707 §2)', () => {
  const audience = (tokens: Record<string, unknown>) =>
    (JSON.parse(Buffer.from((tokens.access_token as string).split('.')[1] ?? '', 'base64url').toString()) as { aud: unknown }).aud

  test('absent means the default resource, which every client may name too', async () => {
    expect(audience(await granted({}))).toBe(grantor.authUrl)
    expect(audience(await granted({ resource: grantor.authUrl }))).toBe(grantor.authUrl)
  })

  test('one that is the client’s becomes the token’s audience', async () => {
    expect(audience(await granted({ resource: 'https://api.example.com/' }))).toBe('https://api.example.com/')
    expect(audience(await granted({ resource: ['', 'urn:x:y'] }))).toBe('urn:x:y')
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
  ])('%s is invalid_target, alone and beside a good one', async (resource) => {
    await refusedAtTheApp({ resource }, 'invalid_target')
    await refusedAtTheApp({ resource: ['https://api.example.com/', resource] }, 'invalid_target')
  })
})
