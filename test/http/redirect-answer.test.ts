/** What is appended to a redirect URI, and what is never touched (RFC 6749 §4.1.2, RFC 9207). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { type Answer, movingTo, requestOf, Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const CODE = 'grc\\.[0-9a-f]{10}\\.[A-Za-z0-9_-]+'

function exactly(location: string, pattern: string): void {
  expect(location).toMatch(new RegExp(`^${pattern}$`))
}

/** The parameters of an answer in their order, values as they stand. */
function answered(url: string, uri = client.redirectUris[0] ?? ''): string[] {
  expect(url.startsWith(`${uri}?`)).toBe(true)
  return url.slice(uri.length + 1).split('&')
}

describe('the specification’s bare request is answered exactly as the specification shows', () => {
  test('with a session: 302 to <redirect_uri>?code=<code>, nothing before, between or behind', async () => {
    const answer = await walk.authorize(requestOf(client))
    expect(answer.status).toBe(302)
    expect(answer.body).toBe('')
    exactly(answer.location, `https://app\\.example\\.net/callback\\?code=${CODE}`)
  })

  test('after a login: the page moves on to <redirect_uri>?code=<code>', async () => {
    const { to } = await new Walk(grantor).signIn(requestOf(client))
    exactly(to, `https://app\\.example\\.net/callback\\?code=${CODE}`)
  })

  test('after a login the app may repeat its request and gets a code at once, another one', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client))
    const again = await browser.authorize(requestOf(client))
    expect(again.status).toBe(302)
    exactly(again.location, `https://app\\.example\\.net/callback\\?code=${CODE}`)
    expect(again.location).not.toContain(code)
  })

  test('a denial of the bare request carries the error and nothing else', async () => {
    const browser = new Walk(grantor)
    const page = await browser.complete(await browser.reject(await browser.challenge(requestOf(client))))
    expect(page.status).toBe(200)
    expect(answered(movingTo(page))).toEqual(['error=access_denied', 'error_description=The%20user%20declined.'])
  })

  test('a redirect holds no cache, no referrer and no content', async () => {
    const { headers } = await walk.authorize(requestOf(client))
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['referrer-policy']).toBe('same-origin')
    expect(headers['content-length']).toBe('0')
    expect(headers).not.toHaveProperty('content-type')
  })
})

describe('the registered URI’s own bytes are never rewritten', () => {
  test.each([
    ['no path', 'https://app.example.net', '?'],
    ['a query', 'https://app.example.net/cb?tenant=7', '&'],
    ['an empty query', 'https://app.example.net/cb?', ''],
    ['a query that ends with an ampersand', 'https://app.example.net/cb?a=1&', ''],
    ['parameters in odd order, twice, without a value', 'https://app.example.net/cb?z=1&a=2&z=3&flag&b=', '&'],
    ['escapes in both cases, and needless ones', 'https://app.example.net/a%2fb/%2Fc/%63?q=%c3%A9&r=%41', '&'],
    ['plus signs and semicolons', 'https://app.example.net/a+b;v=1?q=a+b;c=d', '&'],
    ['dot segments', 'https://app.example.net/a/../b/./c', '?'],
    ['doubled slashes', 'https://app.example.net//a//b', '?'],
    ['capitals in the host', 'https://App.Example.NET/Cb', '?'],
    ['the default port', 'https://app.example.net:443/cb', '?'],
    ['sub-delimiters', "https://app.example.net/(a)!$'*,=@:?x='(y)'", '&'],
    ['a question mark in the query', 'https://app.example.net/cb?a=?&b=/', '&'],
    ['punycode', 'https://xn--bcher-kva.example/cb', '?'],
    ['an IPv6 host', 'https://[2001:db8::1]:8443/cb', '?'],
  ])('%s', async (_, uri, joint) => {
    const odd = await grantor.createClient({ redirectUris: [uri] })
    const code = await walk.authorize(requestOf(odd, { state: 's' }))
    expect(code.status).toBe(302)
    expect(code.location.slice(0, uri.length + joint.length)).toBe(uri + joint)
    exactly(code.location.slice(uri.length + joint.length), `code=${CODE}&state=s`)

    const error = await walk.authorize(requestOf(odd, { scope: 'unknown' }))
    expect(error.location.startsWith(`${uri}${joint}error=invalid_scope&`)).toBe(true)

    const { to } = await new Walk(grantor).signIn(requestOf(odd))
    expect(to.startsWith(`${uri}${joint}code=`)).toBe(true)
  })
})

describe('iss comes back exactly when the request names response_type (RFC 9207 §2)', () => {
  const issuer = () => `iss=${encodeURIComponent(grantor.authUrl)}`
  const named = { response_type: 'code', state: 'x' }

  async function declined(more: Record<string, string>): Promise<Answer> {
    const browser = new Walk(grantor)
    return browser.complete(await browser.reject(await browser.challenge(requestOf(client, more))))
  }

  test('with a code at once', async () => {
    const parameters = answered((await walk.authorize(requestOf(client, named))).location)
    expect(parameters.map((each) => each.split('=')[0])).toEqual(['code', 'state', 'iss'])
    expect(parameters[2]).toBe(issuer())
  })

  test('with a code after a login', async () => {
    const { to } = await new Walk(grantor).signIn(requestOf(client, named))
    expect(answered(to)).toContain(issuer())
  })

  test('with a denial', async () => {
    expect(answered(movingTo(await declined(named)))).toEqual([
      'error=access_denied',
      'error_description=The%20user%20declined.',
      'state=x',
      issuer(),
    ])
  })

  test.each([
    ['a scope', { response_type: 'code', scope: 'unknown' }, 'invalid_scope'],
    ['a response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['a prompt', { response_type: 'code', prompt: 'none' }, 'login_required'],
  ])('with an error about %s', async (_, asked, error) => {
    const answer = await new Walk(grantor).authorize(requestOf(client, asked))
    const parameters = answered(answer.location)
    expect(parameters).toContain(`error=${error}`)
    expect(parameters).toContain(issuer())
  })

  test('also where the response type named is not UTF-8', async () => {
    const answer = await walk.authorize(
      `client_id=${client.id}&redirect_uri=${encodeURIComponent(client.redirectUris[0] ?? '')}&response_type=%FF`,
    )
    expect(answer.status).toBe(302)
    expect(answered(answer.location)).toContain(issuer())
  })

  test.each([{}, { response_type: '' }, { state: 'x' }])('not otherwise: %o', async (asked) => {
    for (const more of [asked, { ...asked, scope: 'unknown' }]) {
      expect((await walk.authorize(requestOf(client, more))).location).not.toContain('iss=')
    }
    expect((await new Walk(grantor).signIn(requestOf(client, asked))).to).not.toContain('iss=')
    expect(movingTo(await declined(asked))).not.toContain('iss=')
  })

  test('iss is the configured address, whatever Host and forwarding headers say', async () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example;proto=https',
      'x-forwarded-proto': 'https',
    }
    const query = new URLSearchParams(requestOf(client, named) as Record<string, string>)
    const answer = await walk.browse({ path: `/oauth/authorize?${query}`, headers })
    expect(answered(answer.location)).toContain(issuer())
    const login = await new Walk(grantor).browse({ path: `/oauth/authorize?${query}`, headers })
    expect(login.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
  })
})
