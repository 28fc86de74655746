/** The parameters that are appended to a redirect URI, which itself never changes (RFC 6749 §4.1.2, RFC 9207). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, movingTo, requestOf, Walk } from '../../../support/walk.ts'

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

function expectExactly(location: string, pattern: string): void {
  expect(location).toMatch(new RegExp(`^${pattern}$`))
}

/** The appended parameters in their order, still encoded. */
function parametersOf(url: string, uri = client.redirectUris[0] ?? ''): string[] {
  expect(url.startsWith(`${uri}?`)).toBe(true)
  return url.slice(uri.length + 1).split('&')
}

describe('Requests with client_id and redirect_uri only', () => {
  test('With a session, a request with client_id and redirect_uri only gets 302 to <redirect_uri>?code=<code> and nothing else', async () => {
    const answer = await walk.authorize(requestOf(client))
    expect(answer.status).toBe(302)
    expect(answer.body).toBe('')
    expectExactly(answer.location, `https://app\\.example\\.net/callback\\?code=${CODE}`)
  })

  test('After a login, a request with client_id and redirect_uri only moves on to <redirect_uri>?code=<code>', async () => {
    const { to } = await new Walk(grantor).signIn(requestOf(client))
    expectExactly(to, `https://app\\.example\\.net/callback\\?code=${CODE}`)
  })

  test('After a login, the app can repeat its request and gets another code at once', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client))
    const again = await browser.authorize(requestOf(client))
    expect(again.status).toBe(302)
    expectExactly(again.location, `https://app\\.example\\.net/callback\\?code=${CODE}`)
    expect(again.location).not.toContain(code)
  })

  test('A denied request with client_id and redirect_uri only gets the error, its description, iss and nothing else', async () => {
    const browser = new Walk(grantor)
    const page = await browser.complete(await browser.reject(await browser.challenge(requestOf(client))))
    expect(page.status).toBe(200)
    expect(parametersOf(movingTo(page))).toEqual([
      'error=access_denied',
      'error_description=The%20user%20declined.',
      `iss=${encodeURIComponent(grantor.authUrl)}`,
    ])
  })

  test('A redirect has no content, no-store, and sends no referrer to other origins', async () => {
    const { headers } = await walk.authorize(requestOf(client))
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['referrer-policy']).toBe('same-origin')
    expect(headers['content-length']).toBe('0')
    expect(headers).not.toHaveProperty('content-type')
  })
})

describe('The bytes of a registered redirect URI', () => {
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
  ])('A response never rewrites the bytes of a redirect URI with %s', async (_, uri, separator) => {
    const odd = await grantor.createClient({ redirectUris: [uri] })
    const code = await walk.authorize(requestOf(odd, { state: 's' }))
    expect(code.status).toBe(302)
    expect(code.location.slice(0, uri.length + separator.length)).toBe(uri + separator)
    expectExactly(code.location.slice(uri.length + separator.length), `code=${CODE}&state=s`)

    const error = await walk.authorize(requestOf(odd, { scope: 'unknown' }))
    expect(error.location.startsWith(`${uri}${separator}error=invalid_scope&`)).toBe(true)

    const { to } = await new Walk(grantor).signIn(requestOf(odd))
    expect(to.startsWith(`${uri}${separator}code=`)).toBe(true)
  })
})

describe('The parameter iss (RFC 9207 §2)', () => {
  const issuer = () => `iss=${encodeURIComponent(grantor.authUrl)}`
  const withResponseType = { response_type: 'code', state: 'x' }

  async function decline(more: Record<string, string>): Promise<Answer> {
    const browser = new Walk(grantor)
    return browser.complete(await browser.reject(await browser.challenge(requestOf(client, more))))
  }

  test('A code at once comes with iss if the request names response_type (RFC 9207 §2)', async () => {
    const parameters = parametersOf((await walk.authorize(requestOf(client, withResponseType))).location)
    expect(parameters.map((each) => each.split('=')[0])).toEqual(['code', 'state', 'iss'])
    expect(parameters[2]).toBe(issuer())
  })

  test('A code after a login comes with iss if the request names response_type (RFC 9207 §2)', async () => {
    const { to } = await new Walk(grantor).signIn(requestOf(client, withResponseType))
    expect(parametersOf(to)).toContain(issuer())
  })

  test('A denial comes with iss if the request names response_type (RFC 9207 §2)', async () => {
    expect(parametersOf(movingTo(await decline(withResponseType)))).toEqual([
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
  ])('An error about %s comes with iss if the request names response_type (RFC 9207 §2)', async (_, more, error) => {
    const answer = await new Walk(grantor).authorize(requestOf(client, more))
    const parameters = parametersOf(answer.location)
    expect(parameters).toContain(`error=${error}`)
    expect(parameters).toContain(issuer())
  })

  test('An error comes with iss even if the response_type is not UTF-8', async () => {
    const answer = await walk.authorize(
      `client_id=${client.id}&redirect_uri=${encodeURIComponent(client.redirectUris[0] ?? '')}&response_type=%FF`,
    )
    expect(answer.status).toBe(302)
    expect(parametersOf(answer.location)).toContain(issuer())
  })

  const withoutType = [{}, { response_type: '' }, { state: 'x' }]

  test.each(withoutType)('A request without response_type gets a code without iss: %o', async (request) => {
    for (const to of [
      (await walk.authorize(requestOf(client, request))).location,
      (await new Walk(grantor).signIn(requestOf(client, request))).to,
    ])
      expect(parametersOf(to).map((each) => each.split('=')[0])).toEqual('state' in request ? ['code', 'state'] : ['code'])
  })

  test.each(withoutType)(
    'An error and a denial for a request without response_type come with iss (RFC 9207 §2): %o',
    async (request) => {
      const refused = await walk.authorize(requestOf(client, { ...request, scope: 'unknown' }))
      expect(parametersOf(refused.location)).toEqual(expect.arrayContaining(['error=invalid_scope', issuer()]))
      expect(parametersOf(movingTo(await decline(request)))).toEqual(expect.arrayContaining(['error=access_denied', issuer()]))
      const posted = await walk.authorize(requestOf(client, { ...request, response_mode: 'form_post', scope: 'unknown' }))
      expect(posted.body).toContain(`name="iss" value="${grantor.authUrl}"`)
    },
  )

  test('The iss and the login page have the configured addresses, whatever the headers Host and Forwarded contain', async () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example;proto=https',
      'x-forwarded-proto': 'https',
    }
    const query = new URLSearchParams(requestOf(client, withResponseType) as Record<string, string>)
    const answer = await walk.browse({ path: `/oauth/authorize?${query}`, headers })
    expect(parametersOf(answer.location)).toContain(issuer())
    const login = await new Walk(grantor).browse({ path: `/oauth/authorize?${query}`, headers })
    expect(login.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
  })
})
