/** No input causes a 5xx, a redirect to an unregistered address or a new row. Covers all parameters and headers of the browser endpoints and the login API. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forAllAsync } from '../../../support/property.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, encode, fieldOf, LOGIN_SERVER, PKCE, requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
let challenge: string

beforeAll(async () => {
  // the limit on failures is not the subject of this file
  grantor = await startGrantor({ failureLimit: 1_000_000 })
  client = await grantor.createClient()
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  challenge = await walk.challenge(requestOf(client, { prompt: 'login' }))
})
afterAll(() => grantor.close())

/** Bytes of a query or a form: percent-encoded, or unencoded if HTTP allows them. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((each) => Array.from(each, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => encodeURIComponent(text)),
  fc.constantFrom(
    '',
    '%',
    '%%',
    '%00',
    '+',
    '=',
    '&',
    '#',
    'null',
    'undefined',
    '__proto__',
    '%EF%BF%BD',
    '[]',
    'x'.repeat(3000),
  ),
)

/** One of these values in three cases of four, so that the later checks are reached too, and otherwise arbitrary bytes. */
const mostlyOneOf = (...values: string[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: bytes })

const headerValue = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .map((code) => String.fromCharCode(code))
    .filter((each) => each !== '\x7f'),
  maxLength: 60,
})
const headers = fc.dictionary(
  fc.constantFrom(
    'cookie',
    'accept',
    'origin',
    'referer',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-request-id',
    'user-agent',
    'content-type',
    'if-none-match',
    'accept-encoding',
    'x-http-method-override',
  ),
  headerValue,
  { maxKeys: 4 },
)

function expectHarmless({ status, location }: Answer): void {
  expect(status).toBeLessThan(500)
  if (location === '') return
  const [to = ''] = location.split('?')
  expect([client.redirectUris[0], `${grantor.loginUrl}/login`]).toContain(to)
}

describe('Arbitrary requests', () => {
  test('No query and header of GET /oauth/authorize causes a 5xx, a redirect to an unregistered address or a changed row', async () => {
    const parameter = fc.oneof(
      fc.tuple(fc.constantFrom('response_type'), mostlyOneOf('code')),
      fc.tuple(fc.constantFrom('scope'), mostlyOneOf('enhancement', 'enhancement%20x')),
      fc.tuple(fc.constantFrom('prompt'), mostlyOneOf('none', 'login', 'consent')),
      fc.tuple(fc.constantFrom('code_challenge'), mostlyOneOf(PKCE.code_challenge)),
      fc.tuple(fc.constantFrom('code_challenge_method'), mostlyOneOf('S256', 'plain')),
      fc.tuple(fc.constantFrom('resource'), mostlyOneOf(encodeURIComponent('http://localhost/'))),
      fc.tuple(fc.constantFrom('client_id', 'redirect_uri', 'state', 'nonce', 'request', 'request_uri', 'max_age'), bytes),
      fc.tuple(bytes, bytes),
    )
    const before = await grantor.rows()
    await forAllAsync(
      fc.array(parameter, { maxLength: 6 }),
      fc.boolean(),
      fc.boolean(),
      headers,
      async (pairs, whole, signedIn, more) => {
        const own = whole ? `${encode(requestOf(client))}&` : ''
        const path = `/oauth/authorize?${own}${pairs.map((pair) => pair.join('=')).join('&')}`
        expectHarmless(await (signedIn ? walk : new Walk(grantor)).browse({ path, headers: more }))
      },
    )
    expect(await grantor.rows()).toEqual(before)
  })

  test('No made-up value of the session and browser cookies causes a 5xx or gets a code', async () => {
    const path = `/oauth/authorize?${encode(requestOf(client))}`
    const cookie = fc.array(fc.tuple(fc.constantFrom('grantor_session', 'grantor_browser', 'a', ''), headerValue), {
      maxLength: 4,
    })
    await forAllAsync(cookie, async (pairs) => {
      const answer = await new Walk(grantor).browse({
        path,
        headers: { cookie: pairs.map((pair) => pair.join('=')).join('; ') },
      })
      expectHarmless(answer)
      expect(answer.location).not.toContain('code=')
    })
  })

  test('No query of GET /login/complete and GET /login/challenge causes a 5xx, an unregistered redirect or a changed row', async () => {
    const before = await grantor.rows()
    await forAllAsync(
      mostlyOneOf(challenge, challenge.replace('grl', 'grv')),
      mostlyOneOf(challenge.replace('grl', 'grv'), challenge),
      headers,
      async (one, two, more) => {
        const answer = await walk.browse({
          path: `/login/complete?login_challenge=${one}&login_verifier=${two}`,
          headers: more,
        })
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expectHarmless(answer)
        expectHarmless(
          await walk.browse({ path: `/login/challenge?login_challenge=${one}`, headers: { authorization: LOGIN_SERVER } }),
        )
      },
    )
    expect(await grantor.rows()).toEqual(before)
  })

  test('No form and header of POST /oauth/authorize/confirm causes a 5xx or a redirect to an unregistered address', async () => {
    const confirmation = fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')
    await forAllAsync(
      mostlyOneOf(confirmation),
      mostlyOneOf('allow', 'deny'),
      bytes,
      headers,
      async (sealed, decision, rest, more) => {
        expectHarmless(
          await walk.postForm('/oauth/authorize/confirm', `confirmation=${sealed}&decision=${decision}&${rest}`, more),
        )
      },
    )
  })

  test('No JSON body of POST /login/message, /login/accept and /login/reject causes a 5xx or a changed row', async () => {
    const before = await grantor.rows()
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(challenge, walk.wallet.address, 1, 8453, `0x${'1'.repeat(130)}`, '203.0.113.1'),
    )
    const field = fc.constantFrom(
      'login_challenge',
      'address',
      'chain_id',
      'scope',
      'signature',
      'client_ip',
      'toString',
      'valueOf',
      'length',
    )
    const claim = fc.dictionary(field, value, { maxKeys: 7 })
    const json = fc.oneof({ weight: 4, arbitrary: claim }, { weight: 1, arbitrary: fc.jsonValue() })
    await forAllAsync(
      fc.constantFrom('/login/message', '/login/accept', '/login/reject'),
      json,
      fc.boolean(),
      async (path, body, whole) => {
        const own = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
        const value = whole ? Object.assign(own, body) : body
        expectHarmless(await walk.browse({ method: 'POST', path, headers: JSON_HEADERS, body: JSON.stringify(value) }))
      },
    )
    expect(await grantor.rows()).toEqual(before)
  })

  test('No bytes in the body of POST /login/message, /login/accept and /oauth/authorize/confirm cause a 5xx', async () => {
    await forAllAsync(
      fc.constantFrom('/login/message', '/login/accept', '/oauth/authorize/confirm'),
      fc.uint8Array({ maxLength: 200 }),
      headers,
      async (path, body, more) => {
        expectHarmless(await walk.browse({ method: 'POST', path, headers: { ...JSON_HEADERS, ...more }, body }))
      },
    )
  })

  test('Every made-up Authorization header at the login API gets 401', async () => {
    const value = fc.oneof(
      headerValue,
      headerValue.map((text) => `Basic ${Buffer.from(text, 'latin1').toString('base64')}`),
    )
    await forAllAsync(value, async (authorization) => {
      const answer = await walk.browse({
        method: 'POST',
        path: '/login/accept',
        headers: { ...JSON_HEADERS, authorization },
        body: '{}',
      })
      expect(answer.status).toBe(401)
    })
  })
})

const JSON_HEADERS = { authorization: LOGIN_SERVER, 'content-type': 'application/json' }
