import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseBasicCredentials } from '../../../src/protocol/oauth/basic-credentials.ts'
import { forAll } from '../../support/property.ts'

const ID = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'
const SECRET = 'Zm9v-_bar_0123456789-ABCDEFGHIJKLMNOPQRSTUV'
const base64 = (pair: string): string => Buffer.from(pair, 'utf8').toString('base64')
const basic = (pair: string) => parseBasicCredentials(`Basic ${base64(pair)}`)
const malformed = { kind: 'malformed' }

test('Without an Authorization header there are no Basic credentials', () => {
  expect(parseBasicCredentials(undefined)).toEqual({ kind: 'absent' })
})

test('The example header of RFC 6749 §2.3.1 reads as its client id and secret', () => {
  const header = 'Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3'
  expect(parseBasicCredentials(header)).toEqual({ kind: 'credentials', id: 's6BhdRkqt3', secret: '7Fjfp0ZBr1KtDRbnfVdmIw' })
})

test('The example header of RFC 7617 §2 reads as its user name and password', () => {
  const header = 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
  expect(parseBasicCredentials(header)).toEqual({ kind: 'credentials', id: 'Aladdin', secret: 'open sesame' })
})

test.each(['Basic ', 'basic ', 'BASIC ', 'bAsIc ', 'Basic   '])(
  'The scheme Basic is read in any case (RFC 9110 §11.1): "%s"',
  (scheme) => {
    const read = parseBasicCredentials(scheme + base64(`${ID}:${SECRET}`))
    expect(read).toEqual({ kind: 'credentials', id: ID, secret: SECRET })
  },
)

test('Basic credentials may omit the base64 padding', () => {
  for (const secret of ['s', 'se', 'sec']) {
    const bare = base64(`id:${secret}`).replaceAll('=', '')
    expect(parseBasicCredentials(`Basic ${bare}`)).toEqual({ kind: 'credentials', id: 'id', secret })
  }
})

describe('Form-urlencoded Basic credentials (RFC 6749 §2.3.1)', () => {
  test.each([
    ['a%3Ab:c%3Ad', 'a:b', 'c:d'],
    ['a+b:c+d', 'a b', 'c d'],
    ['a%20b:c%2Bd', 'a b', 'c+d'],
    ['id:a:b', 'id', 'a:b'],
    ['id:', 'id', ''],
    ['id::', 'id', ':'],
    ['%41%42:%43', 'AB', 'C'],
    ['id:%C3%A9', 'id', 'é'],
    ['id:é', 'id', 'é'],
    ['id:%2525', 'id', '%25'],
  ])('The id and the secret of Basic credentials are each form-decoded (RFC 6749 §2.3.1): %s', (pair, id, secret) => {
    expect(basic(pair)).toEqual({ kind: 'credentials', id, secret })
  })

  test('Any form-encoded id and secret in Basic credentials read as the original ones (RFC 6749 §2.3.1)', () => {
    forAll(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }), (id, secret) => {
      const pair = [id, secret].map((part) => new URLSearchParams([['', part]]).toString().slice(1)).join(':')
      expect(basic(pair)).toEqual({ kind: 'credentials', id, secret })
    })
  })

  test("The service's own ids and secrets are the same with and without form-encoding", () => {
    const pair = [ID, SECRET].map(encodeURIComponent).join(':')
    expect(pair).toBe(`${ID}:${SECRET}`)
  })
})

test.each([
  ['an empty header', ''],
  ['the scheme alone', 'Basic'],
  ['the scheme and a space', 'Basic '],
  ['another scheme', `Bearer ${base64('id:secret')}`],
  ['a scheme that only begins with Basic', `Basics ${base64('id:secret')}`],
  ['no space', `Basic${base64('id:secret')}`],
  ['a tab for the space', `Basic\t${base64('id:secret')}`],
  ['a space before', ` Basic ${base64('id:secret')}`],
  ['a space after', `Basic ${base64('id:secret')} `],
  ['a space within', 'Basic aWQ6 c2VjcmV0'],
  ['two headers joined into one', `Basic ${base64('id:secret')}, Basic ${base64('id:secret')}`],
  ['no colon', `Basic ${base64('id')}`],
  ['an empty id', `Basic ${base64(':secret')}`],
  ['plain text', 'Basic id:secret'],
  ['base64url', 'Basic aWQ6_-_-'],
  ['too much padding', 'Basic aWQ6cw==='],
  ['padding where none belongs', 'Basic aWQ6c2Vj='],
  ['padding within', 'Basic aWQ6cw==aWQ6cw=='],
  ['half a byte', 'Basic aWQ6c'],
  ['unused bits that are not zero', 'Basic aWQ6cx=='],
  ['a stray percent sign', `Basic ${base64('id:100%')}`],
  ['percent-encoded bytes that are not UTF-8', `Basic ${base64('id:%FF')}`],
  ['a percent-encoded half of a character', `Basic ${base64('id:%C3')}`],
])('A header of Basic credentials is malformed with %s', (_, header) => {
  expect(parseBasicCredentials(header)).toEqual(malformed)
})

test('Basic credentials with bytes that are not UTF-8 are malformed, not decoded with U+FFFD', () => {
  const header = `Basic ${Buffer.from([0x69, 0x3a, 0xff]).toString('base64')}`
  expect(parseBasicCredentials(header)).toEqual(malformed)
})

test('Reading an arbitrary header as Basic credentials never throws', () => {
  forAll(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.base64String().map((text) => `Basic ${text}`),
    ),
    (header) => {
      expect(['malformed', 'credentials']).toContain(parseBasicCredentials(header).kind)
    },
  )
})
