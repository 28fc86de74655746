/** The redirect URIs that a request may use (RFC 9700 §2.1: exact string matching; RFC 8252 §7.3: the loopback port of native apps). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, noticeOf, PKCE, requestOf, Walk } from '../../../support/walk.ts'

const REGISTERED = 'https://app.example.net/callback?tenant=a%2Fb&x=1'

/** Each URI differs from the registered one in one respect. A lenient comparison would accept most of them. */
const MUTATIONS: [what: string, uri: string][] = [
  ['upper-case scheme', 'HTTPS://app.example.net/callback?tenant=a%2Fb&x=1'],
  ['plain http', 'http://app.example.net/callback?tenant=a%2Fb&x=1'],
  ['another scheme', 'javascript://app.example.net/callback?tenant=a%2Fb&x=1'],
  ['no scheme', '//app.example.net/callback?tenant=a%2Fb&x=1'],
  ['a backslash authority', 'https:\\\\app.example.net/callback?tenant=a%2Fb&x=1'],
  ['one slash', 'https:/app.example.net/callback?tenant=a%2Fb&x=1'],
  ['upper-case host', 'https://APP.example.net/callback?tenant=a%2Fb&x=1'],
  ['a dot after the host', 'https://app.example.net./callback?tenant=a%2Fb&x=1'],
  ['a subdomain', 'https://evil.app.example.net/callback?tenant=a%2Fb&x=1'],
  ['the parent domain', 'https://example.net/callback?tenant=a%2Fb&x=1'],
  ['the host as a prefix', 'https://app.example.net.evil.example/callback?tenant=a%2Fb&x=1'],
  ['the host as a suffix', 'https://evilapp.example.net/callback?tenant=a%2Fb&x=1'],
  ['the default port', 'https://app.example.net:443/callback?tenant=a%2Fb&x=1'],
  ['another port', 'https://app.example.net:8443/callback?tenant=a%2Fb&x=1'],
  ['an empty port', 'https://app.example.net:/callback?tenant=a%2Fb&x=1'],
  ['a user name', 'https://user@app.example.net/callback?tenant=a%2Fb&x=1'],
  ['the host as a user name', 'https://app.example.net@evil.example/callback?tenant=a%2Fb&x=1'],
  ['the host as a user name behind a backslash', 'https://evil.example\\@app.example.net/callback?tenant=a%2Fb&x=1'],
  ['a percent-encoded host', 'https://app%2Eexample.net/callback?tenant=a%2Fb&x=1'],
  ['a Cyrillic letter in the host', 'https://аpp.example.net/callback?tenant=a%2Fb&x=1'],
  ['an ideographic full stop in the host', 'https://app。example.net/callback?tenant=a%2Fb&x=1'],
  ['full-width letters in the path', 'https://app.example.net/ｃallback?tenant=a%2Fb&x=1'],
  ['a combining mark', 'https://app.example.net/callback\u0301?tenant=a%2Fb&x=1'],
  ['a zero-width space', 'https://app.example.net/callback\u200b?tenant=a%2Fb&x=1'],
  ['upper case in the path', 'https://app.example.net/Callback?tenant=a%2Fb&x=1'],
  ['a trailing slash', 'https://app.example.net/callback/?tenant=a%2Fb&x=1'],
  ['a doubled slash', 'https://app.example.net//callback?tenant=a%2Fb&x=1'],
  ['a longer path', 'https://app.example.net/callback/evil?tenant=a%2Fb&x=1'],
  ['a shorter path', 'https://app.example.net/?tenant=a%2Fb&x=1'],
  ['a dot segment', 'https://app.example.net/./callback?tenant=a%2Fb&x=1'],
  ['dot segments that cancel out', 'https://app.example.net/x/../callback?tenant=a%2Fb&x=1'],
  ['dot segments that lead away', 'https://app.example.net/callback/../evil?tenant=a%2Fb&x=1'],
  ['encoded dot segments', 'https://app.example.net/callback/%2e%2e/callback?tenant=a%2Fb&x=1'],
  ['a backslash in the path', 'https://app.example.net\\callback?tenant=a%2Fb&x=1'],
  ['a path parameter', 'https://app.example.net/callback;x?tenant=a%2Fb&x=1'],
  ['a needlessly encoded letter', 'https://app.example.net/%63allback?tenant=a%2Fb&x=1'],
  ['an escape in lower case', 'https://app.example.net/callback?tenant=a%2fb&x=1'],
  ['an escape decoded', 'https://app.example.net/callback?tenant=a/b&x=1'],
  ['an escape encoded again', 'https://app.example.net/callback?tenant=a%252Fb&x=1'],
  ['a fragment', `${REGISTERED}#`],
  ['a fragment with words', `${REGISTERED}#evil`],
  ['one more parameter', `${REGISTERED}&next=https://evil.example`],
  ['an empty parameter more', `${REGISTERED}&`],
  ['no query', 'https://app.example.net/callback'],
  ['an empty query', 'https://app.example.net/callback?'],
  ['parameters in another order', 'https://app.example.net/callback?x=1&tenant=a%2Fb'],
  ['a question mark more', 'https://app.example.net/callback??tenant=a%2Fb&x=1'],
  ['a space before', ` ${REGISTERED}`],
  ['a space after', `${REGISTERED} `],
  ['a line break after', `${REGISTERED}\r\n`],
  ['a header smuggled in', `${REGISTERED}\r\nLocation: https://evil.example/`],
  ['a tab within', 'https://app.exam\tple.net/callback?tenant=a%2Fb&x=1'],
  ['a NUL after', `${REGISTERED}\0`],
  ['a byte order mark before', `\ufeff${REGISTERED}`],
  ['a wildcard host', 'https://*.example.net/callback?tenant=a%2Fb&x=1'],
  ['a wildcard path', 'https://app.example.net/*'],
  ['a wildcard alone', '*'],
  ['a relative reference', '/callback?tenant=a%2Fb&x=1'],
  ['the registered URI twice in one value', `${REGISTERED} ${REGISTERED}`],
  ['the registered URI as a query', `https://evil.example/?${REGISTERED}`],
  ['out of band', 'urn:ietf:wg:oauth:2.0:oob'],
]

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ redirectUris: [REGISTERED] })
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

async function expectErrorPage(request: string | Record<string, string>, notice: string): Promise<void> {
  // With a session, an accepted URI would get a code at once. Without one, a login would begin.
  for (const browser of [walk, new Walk(grantor)]) {
    const answer = await browser.authorize(request)
    expect(answer.status).toBe(400)
    expect(answer.headers).not.toHaveProperty('location')
    expect(answer.headers).not.toHaveProperty('refresh')
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(answer.body).not.toContain('http-equiv="refresh"')
    expect(noticeOf(answer)).toBe(notice)
  }
}

describe('Exact matching of redirect URIs (RFC 9700 §2.1)', () => {
  test('The test data have at least forty redirect URIs that are almost the registered one', () => {
    expect(new Set(MUTATIONS.map(([, uri]) => uri)).size).toBeGreaterThanOrEqual(40)
  })

  test.each(MUTATIONS)(
    'A redirect URI that differs from the registered one is refused with a page, without redirect: %s (RFC 9700 §2.1)',
    async (_, uri) => {
      await expectErrorPage({ client_id: client.id, redirect_uri: uri }, 'redirect_uri_mismatch')
    },
  )

  test('The registered redirect URI gets a code', async () => {
    const answer = await walk.authorize(requestOf(client))
    expect(answer.status).toBe(302)
    expect(answer.location.startsWith(`${REGISTERED}&code=`)).toBe(true)
  })

  test('A redirect URI that is encoded twice is decoded once and refused', async () => {
    const twice = encodeURIComponent(encodeURIComponent(REGISTERED))
    await expectErrorPage(`client_id=${client.id}&redirect_uri=${twice}`, 'redirect_uri_mismatch')
  })

  test('A redirect URI with bytes that are not UTF-8 is refused', async () => {
    const raw = `${encodeURIComponent('https://app.example.net/callback')}%FF`
    await expectErrorPage(`client_id=${client.id}&redirect_uri=${raw}`, 'redirect_uri_mismatch')
  })

  test('An unregistered redirect URI is refused with a page even if other parameters are invalid', async () => {
    const request = { client_id: client.id, redirect_uri: 'https://evil.example/', response_type: 'token', scope: '"' }
    await expectErrorPage(request, 'redirect_uri_mismatch')
  })
})

describe('Requests without a client and its redirect URI (RFC 6749 §4.1.2.1)', () => {
  test('A request without redirect URI is refused with a page, even if only one is registered (RFC 6749 §4.1.2.1)', async () => {
    await expectErrorPage({ client_id: client.id }, 'redirect_uri_missing')
  })

  test('An empty redirect URI counts as missing', async () => {
    await expectErrorPage({ client_id: client.id, redirect_uri: '' }, 'redirect_uri_missing')
  })

  test.each([
    ['no client id', ''],
    ['an empty client id', 'client_id='],
    ['an id that is not registered', 'client_id=4a3e0f7e-7c38-4d1c-9f2e-000000000000'],
    ['an id that is not UTF-8', 'client_id=%FF'],
    ['the name of a JavaScript property', 'client_id=__proto__'],
    ['an id with a NUL', 'client_id=%00'],
  ])('A request with %s is refused with a page (RFC 6749 §4.1.2.1)', async (_, id) => {
    await expectErrorPage(`${id}&redirect_uri=${encodeURIComponent(REGISTERED)}`, 'unknown_client')
  })

  test('A client id in another letter case is unknown', async () => {
    await expectErrorPage({ client_id: client.id.toUpperCase(), redirect_uri: REGISTERED }, 'unknown_client')
  })

  test('The redirect URI of another client is refused with a page (RFC 6749 §4.1.2.1)', async () => {
    const other = await grantor.createClient({ redirectUris: ['https://other.example.net/'] })
    await expectErrorPage({ client_id: client.id, redirect_uri: other.redirectUris[0] ?? '' }, 'redirect_uri_mismatch')
  })

  test('A request of a disabled client is refused with a page, with and without a session', async () => {
    const disabled = await grantor.createClient()
    await grantor.store.clients.replaceClient({ ...disabled, disabledAt: grantor.clock.now() })
    await grantor.noticeChanges()
    await expectErrorPage(requestOf(disabled) as Record<string, string>, 'unknown_client')
  })
})

describe('Loopback redirect URIs of native apps (RFC 8252 §7.3)', () => {
  let native: TestClient
  beforeAll(async () => {
    native = await grantor.createClient({
      type: 'native',
      redirectUris: ['http://127.0.0.1/cb', 'http://[::1]:9000/cb?a=1', 'http://localhost:7000/cb', 'com.example.app:/cb'],
    })
  })

  const authorizeWith = (uri: string, of = native) => walk.authorize({ client_id: of.id, redirect_uri: uri, ...PKCE })

  test.each([
    'http://127.0.0.1/cb',
    'http://127.0.0.1:1/cb',
    'http://127.0.0.1:65535/cb',
    'http://[::1]/cb?a=1',
    'http://[::1]:5/cb?a=1',
    'http://localhost:7000/cb',
    'http://localhost/cb',
    'http://localhost:7001/cb',
    'com.example.app:/cb',
  ])('The redirect URI %s of a native app is accepted: at most its loopback port differs (RFC 8252 §7.3)', async (uri) => {
    const answer = await authorizeWith(uri)
    expect(answer.status).toBe(302)
    expect(answer.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
  })

  test.each([
    'http://127.0.0.1:80/cb/',
    'http://127.0.0.1:80/CB',
    'http://127.0.0.1:80/',
    'http://127.0.0.1:80/cb?x',
    'http://127.0.0.1:80/cb#x',
    'http://127.0.0.1:80#/cb',
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:-1/cb',
    'http://127.0.0.1:8e1/cb',
    'http://127.0.0.1:80@evil.example/cb',
    'http://127.0.0.1@evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://127.0.0.1:80.evil.example/cb',
    'http://127.0.0.1\\evil.example/cb',
    'http://127.0.0.2/cb',
    'http://127.1/cb',
    'http://2130706433/cb',
    'http://0x7f.0.0.1/cb',
    'https://127.0.0.1:80/cb',
    'HTTP://127.0.0.1:80/cb',
    'http://[::1]:5/cb',
    'http://[::1]:5/cb?a=2',
    'http://[0:0:0:0:0:0:0:1]/cb?a=1',
    'http://[::ffff:127.0.0.1]/cb?a=1',
    'http://app.localhost:7001/cb',
    'com.example.app:/cb/',
    'com.example.app://cb',
    'COM.example.app:/cb',
  ])('The redirect URI %s of a native app is refused (RFC 8252 §7.3)', async (uri) => {
    const answer = await authorizeWith(uri)
    expect(answer.status).toBe(400)
    expect(answer.headers).not.toHaveProperty('location')
    expect(noticeOf(answer)).toBe('redirect_uri_mismatch')
  })

  test.each(['public', 'confidential'] as const)('The loopback port of a %s client must be the registered one', async (type) => {
    const web = await grantor.createClient({ type, redirectUris: ['http://127.0.0.1:5000/cb'] })
    expect((await authorizeWith('http://127.0.0.1:5000/cb', web)).status).toBe(302)
    const answer = await authorizeWith('http://127.0.0.1:5001/cb', web)
    expect(answer.status).toBe(400)
    expect(noticeOf(answer)).toBe('redirect_uri_mismatch')
  })

  test('A code goes to the requested loopback port, and is redeemed with that redirect URI only (RFC 6749 §4.1.3)', async () => {
    const uri = 'http://127.0.0.1:51004/cb'
    const { to, code } = await walk.signIn({ client_id: native.id, redirect_uri: uri, ...PKCE })
    expect(to.startsWith(`${uri}?code=`)).toBe(true)
    const redeem = (redirect_uri: string) =>
      walk.token(native, { grant_type: 'authorization_code', code, redirect_uri, code_verifier: CODE_VERIFIER })
    for (const other of ['http://127.0.0.1/cb', 'http://127.0.0.1:51005/cb']) {
      const refused = await redeem(other)
      expect(refused.status).toBe(400)
      expect(refused.json()).toMatchObject({ error: 'invalid_grant' })
    }
    expect((await redeem(uri)).status).toBe(200)
  })
})
