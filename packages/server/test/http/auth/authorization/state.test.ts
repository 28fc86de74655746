/** The service returns `state` "as received from the client" (RFC 6749 §4.1.2): byte for byte after form decoding. */
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { test as base, FILE, signIn } from '../../../support/fixtures.ts'
import { forAllAsync } from '../../../support/property.ts'
import type { TestClient } from '../../../support/start.ts'
import { encode, movingTo, requestOf, Walk } from '../../../support/walk.ts'

const test = base.extend('walk', FILE, signIn)

const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte)
const EVERY_KIND: [what: string, sent: string, bytes: Buffer][] = [
  ['all 256 bytes, percent-encoded', ALL_BYTES.map(percent).join(''), Buffer.from(ALL_BYTES)],
  ['all 256 bytes, in capitals', ALL_BYTES.map((byte) => percent(byte).toUpperCase()).join(''), Buffer.from(ALL_BYTES)],
  ['UTF-8', encodeURIComponent('grüße 🌍 \u202e'), Buffer.from('grüße 🌍 \u202e')],
  ['bytes that are not UTF-8', '%ff%fe%c3%80', Buffer.from([0xff, 0xfe, 0xc3, 0x80])],
  ['raw characters that should be encoded', 'a"<>|^`{}\\[]b', Buffer.from('a"<>|^`{}\\[]b')],
  ['an overlong NUL and half a surrogate', '%C0%80%ED%A0%80', Buffer.from([0xc0, 0x80, 0xed, 0xa0, 0x80])],
  ['a byte order mark', '%EF%BB%BFx', Buffer.from('\ufeffx')],
  ['plus signs, which are spaces', 'a+b++c', Buffer.from('a b  c')],
  ['percent-encoded plus signs, which are plus signs', 'a%2Bb', Buffer.from('a+b')],
  ['encoded text that looks encoded', '%2541%2526', Buffer.from('%41%26')],
  ['text that looks like parameters', '%26code%3Devil%26iss%3Devil%23x', Buffer.from('&code=evil&iss=evil#x')],
  ['equals signs', 'a=b==', Buffer.from('a=b==')],
  [
    'text that looks like a header',
    '%0d%0aLocation:%20https://evil.example/%0d%0a',
    Buffer.from('\r\nLocation: https://evil.example/\r\n'),
  ],
  ['text that looks like markup', '"><script>alert(1)</script>&lt;', Buffer.from('"><script>alert(1)</script>')],
  ['stray percent signs', '100%&', Buffer.from('100%')],
  ['percent signs without an escape', '%zz%4', Buffer.from('%zz%4')],
  ['a question mark and slashes', '?/?//', Buffer.from('?/?//')],
  ['one blank', '+', Buffer.from(' ')],
  ['one NUL', '%00', Buffer.from([0])],
  ['2,000 characters', 'x'.repeat(2000), Buffer.alloc(2000, 'x')],
]

/** The only `state` of a response as bytes. The test decodes by RFC 6749 appendix B itself, without the service's decoder. */
function stateOf(url: string): Buffer {
  const query = url.slice(url.indexOf('?') + 1)
  const [state, ...others] = query.split('&').filter((pair) => pair.startsWith('state='))
  expect(others).toEqual([])
  // A URL is ASCII (RFC 3986 §2).
  expect(url).toMatch(/^[\x21-\x7e]+$/)
  const encoded = (state ?? '').slice('state='.length).replaceAll('+', ' ')
  const latin1 = encoded.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(latin1, 'latin1')
}

const queryWith = (client: TestClient, sent: string, more = {}) => `${encode(requestOf(client, more))}&state=${sent}`

describe('The parameter state (RFC 6749 §4.1.2)', () => {
  test.for(EVERY_KIND)(
    'A code comes with the same bytes of state: %s (RFC 6749 §4.1.2)',
    async ([, sent, bytes], { client, walk }) => {
      const answer = await walk.authorize(queryWith(client, sent))
      expect(answer.status).toBe(302)
      expect(answer.location).toContain('?code=')
      expect(stateOf(answer.location)).toEqual(bytes)
    },
  )

  test.for(EVERY_KIND)(
    'An error comes with the same bytes of state: %s (RFC 6749 §4.1.2.1)',
    async ([, sent, bytes], { client, walk }) => {
      const answer = await walk.authorize(queryWith(client, sent, { response_type: 'nonsense' }))
      expect(answer.location).toContain('?error=unsupported_response_type&')
      expect(stateOf(answer.location)).toEqual(bytes)
    },
  )

  test.for(EVERY_KIND.filter(([what]) => what !== '2,000 characters'))(
    'A code after a login comes with the same bytes of state: %s (RFC 6749 §4.1.2)',
    async ([, sent, bytes], { grantor, client }) => {
      const { to, code } = await new Walk(grantor).signIn(queryWith(client, sent))
      expect(code).not.toBe('')
      expect(stateOf(to)).toEqual(bytes)
    },
  )

  test.for(EVERY_KIND.slice(0, 14))(
    'A denial comes with the same bytes of state: %s (RFC 6749 §4.1.2.1)',
    async ([, sent, bytes], { grantor, client }) => {
      const browser = new Walk(grantor)
      const page = await browser.complete(await browser.reject(await browser.challenge(queryWith(client, sent))))
      expect(movingTo(page)).toContain('?error=access_denied&')
      expect(stateOf(movingTo(page))).toEqual(bytes)
    },
  )

  test.for(EVERY_KIND.slice(0, 14))(
    'A code after a confirmation comes with the same bytes of state: %s (RFC 6749 §4.1.2)',
    async ([, sent, bytes], { client, walk }) => {
      const page = await walk.authorize(queryWith(client, sent, { prompt: 'consent' }))
      const to = movingTo(await walk.confirm(page, 'allow'))
      expect(to).toContain('?code=')
      expect(stateOf(to)).toEqual(bytes)
    },
  )

  test('A request without state, or with an empty one, gets no state (RFC 6749 §3.1)', async ({ grantor, client, walk }) => {
    for (const request of [
      requestOf(client),
      requestOf(client, { state: '' }),
      requestOf(client, { state: '', scope: 'unknown' }),
    ]) {
      expect((await walk.authorize(request)).location).not.toContain('state')
    }
    expect((await walk.authorize(`${encode(requestOf(client))}&state`)).location).not.toContain('state')
    expect((await new Walk(grantor).signIn(requestOf(client, { state: '' }))).to).not.toContain('state')
  })

  test('Arbitrary bytes of state, encoded or not, are returned byte for byte', async ({ client, walk }) => {
    const piece = fc.oneof(
      fc.integer({ min: 0, max: 255 }).map((byte) => ({ sent: percent(byte), byte })),
      fc.integer({ min: 0x30, max: 0x39 }).map((byte) => ({ sent: String.fromCharCode(byte), byte })),
      fc.constant({ sent: '+', byte: 0x20 }),
    )
    await forAllAsync(fc.array(piece, { minLength: 1, maxLength: 60 }), async (pieces) => {
      const answer = await walk.authorize(queryWith(client, pieces.map(({ sent }) => sent).join('')))
      expect(stateOf(answer.location)).toEqual(Buffer.from(pieces.map(({ byte }) => byte)))
    })
  })

  test('A request with raw bytes above ASCII is refused with 400, without a redirect (RFC 3986 §2)', async ({ client, walk }) => {
    const path = `/oauth/authorize?${queryWith(client, Buffer.from('grüße').toString('latin1'))}`
    const answer = await walk.browse({ path, headers: { connection: 'close' } })
    expect(answer.status).toBe(400)
    expect(answer.location).toBe('')
  })
})
