/** `state` is the app's own: it comes back "as received from the client" (RFC 6749 §4.1.2), byte for byte after form decoding. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runs } from '../support/runs.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { encode, movingTo, requestOf, Walk } from '../support/walk.ts'

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

const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte)
const EVERY_KIND: [what: string, sent: string, bytes: Buffer][] = [
  ['all 256 bytes, percent-encoded', ALL_BYTES.map(percent).join(''), Buffer.from(ALL_BYTES)],
  ['all 256 bytes, in capitals', ALL_BYTES.map((byte) => percent(byte).toUpperCase()).join(''), Buffer.from(ALL_BYTES)],
  ['UTF-8', encodeURIComponent('grüße 🌍 \u202e'), Buffer.from('grüße 🌍 \u202e')],
  ['bytes that are not UTF-8', '%ff%fe%c3%80', Buffer.from([0xff, 0xfe, 0xc3, 0x80])],
  ['characters that belong encoded but were sent raw', 'a"<>|^`{}\\[]b', Buffer.from('a"<>|^`{}\\[]b')],
  ['an overlong NUL and half a surrogate', '%C0%80%ED%A0%80', Buffer.from([0xc0, 0x80, 0xed, 0xa0, 0x80])],
  ['a byte order mark', '%EF%BB%BFx', Buffer.from('\ufeffx')],
  ['plus signs, which are spaces', 'a+b++c', Buffer.from('a b  c')],
  ['percent-encoded plus signs, which are plus signs', 'a%2Bb', Buffer.from('a+b')],
  ['something that looks encoded, encoded', '%2541%2526', Buffer.from('%41%26')],
  ['what would be parameters', '%26code%3Devil%26iss%3Devil%23x', Buffer.from('&code=evil&iss=evil#x')],
  ['equals signs', 'a=b==', Buffer.from('a=b==')],
  [
    'what would be a header',
    '%0d%0aLocation:%20https://evil.example/%0d%0a',
    Buffer.from('\r\nLocation: https://evil.example/\r\n'),
  ],
  ['what would be markup', '"><script>alert(1)</script>&lt;', Buffer.from('"><script>alert(1)</script>')],
  ['stray percent signs', '100%&', Buffer.from('100%')],
  ['percent signs before what is no escape', '%zz%4', Buffer.from('%zz%4')],
  ['a question mark and slashes', '?/?//', Buffer.from('?/?//')],
  ['one blank', '+', Buffer.from(' ')],
  ['one NUL', '%00', Buffer.from([0])],
  ['2,000 characters', 'x'.repeat(2000), Buffer.alloc(2000, 'x')],
]

/** The one `state` of an answer, form-decoded to its bytes by rules of its own: nothing but what RFC 6749 appendix B says. */
function stateOf(url: string): Buffer {
  const query = url.slice(url.indexOf('?') + 1)
  const [state, ...others] = query.split('&').filter((pair) => pair.startsWith('state='))
  expect(others).toEqual([])
  // an answer is ASCII, whatever it carries (RFC 3986 §2)
  expect(url).toMatch(/^[\x21-\x7e]+$/)
  const encoded = (state ?? '').slice('state='.length).replaceAll('+', ' ')
  const latin1 = encoded.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(latin1, 'latin1')
}

const asking = (sent: string, more = {}) => `${encode(requestOf(client, more))}&state=${sent}`

describe('state comes back byte for byte (RFC 6749 §4.1.2)', () => {
  test.each(EVERY_KIND)('with a code: %s', async (_, sent, bytes) => {
    const answer = await walk.authorize(asking(sent))
    expect(answer.status).toBe(302)
    expect(answer.location).toContain('?code=')
    expect(stateOf(answer.location)).toEqual(bytes)
  })

  test.each(EVERY_KIND)('with an error: %s', async (_, sent, bytes) => {
    const answer = await walk.authorize(asking(sent, { response_type: 'nonsense' }))
    expect(answer.location).toContain('?error=unsupported_response_type&')
    expect(stateOf(answer.location)).toEqual(bytes)
  })

  test.each(EVERY_KIND.filter(([what]) => what !== '2,000 characters'))(
    'after a login, sealed in between: %s',
    async (_, sent, bytes) => {
      const { to, code } = await new Walk(grantor).signIn(asking(sent))
      expect(code).not.toBe('')
      expect(stateOf(to)).toEqual(bytes)
    },
  )

  test.each(EVERY_KIND.slice(0, 14))('with a denial: %s', async (_, sent, bytes) => {
    const browser = new Walk(grantor)
    const page = await browser.complete(await browser.reject(await browser.challenge(asking(sent))))
    expect(movingTo(page)).toContain('?error=access_denied&')
    expect(stateOf(movingTo(page))).toEqual(bytes)
  })

  test.each(EVERY_KIND.slice(0, 14))('through a confirmation: %s', async (_, sent, bytes) => {
    const page = await walk.authorize(asking(sent, { prompt: 'consent' }))
    const to = movingTo(await walk.confirm(page, 'allow'))
    expect(to).toContain('?code=')
    expect(stateOf(to)).toEqual(bytes)
  })

  test('no state, no state; an empty one counts as none (RFC 6749 §3.1)', async () => {
    for (const asked of [
      requestOf(client),
      requestOf(client, { state: '' }),
      requestOf(client, { state: '', scope: 'unknown' }),
    ]) {
      expect((await walk.authorize(asked)).location).not.toContain('state')
    }
    expect((await walk.authorize(`${encode(requestOf(client))}&state`)).location).not.toContain('state')
    expect((await new Walk(grantor).signIn(requestOf(client, { state: '' }))).to).not.toContain('state')
  })

  test('any bytes at all, encoded or not', async () => {
    const piece = fc.oneof(
      fc.integer({ min: 0, max: 255 }).map((byte) => ({ sent: percent(byte), byte })),
      fc.integer({ min: 0x30, max: 0x39 }).map((byte) => ({ sent: String.fromCharCode(byte), byte })),
      fc.constant({ sent: '+', byte: 0x20 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 60 }), async (pieces) => {
        const answer = await walk.authorize(asking(pieces.map(({ sent }) => sent).join('')))
        expect(stateOf(answer.location)).toEqual(Buffer.from(pieces.map(({ byte }) => byte)))
      }),
      { numRuns: runs },
    )
  })

  test('bytes above ASCII sent raw are no URL (RFC 3986 §2): refused, nothing guessed', async () => {
    const path = `/oauth/authorize?${asking(Buffer.from('grüße').toString('latin1'))}`
    const answer = await walk.browse({ path, headers: { connection: 'close' } })
    expect(answer.status).toBe(400)
    expect(answer.location).toBe('')
  })
})
