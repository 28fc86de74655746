/** Which ENS names are shown, and their hashes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashName, hashOfReverseName, isShownName } from '../../../src/protocol/wallet/ens-name.ts'

test.for([
  ['', '0x0000000000000000000000000000000000000000000000000000000000000000'],
  ['eth', '0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae'],
  ['foo.eth', '0xde9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f'],
  ['addr.reverse', '0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2'],
] as const)('The hash of the name %j is that of the standard (ENSIP-1)', ([name, hash]) => {
  expect(hashName(name)).toBe(hash)
})

test('The reverse name of an address is its lower-case digits under addr.reverse (ENSIP-3)', () => {
  expect(hashOfReverseName('0x314159265dD8dbb310642f98f50C066173C1259b')).toBe(
    hashName('314159265dd8dbb310642f98f50c066173c1259b.addr.reverse'),
  )
})

test.for([
  'nick.eth',
  'a-b.eth',
  '_dnslink.vitalik.eth',
  '__x.eth',
  'a1.b2.c3.example.com',
  '0xmaki.eth',
  'a--b.eth',
  `${'a'.repeat(56)}.eth`,
])('A name of lower-case ASCII letters, digits, hyphens and leading underscores is shown: %s', (name) =>
  expect(isShownName(name)).toBe(true),
)

test.for([
  ['a Cyrillic letter', 'vit\u0430lik.eth'],
  ['a Greek letter', 'nic\u03ba.eth'],
  ['a zero-width space', 'nick\u200b.eth'],
  ['a zero-width joiner', 'ni\u200dck.eth'],
  ['a soft hyphen', 'ni\u00adck.eth'],
  ['a right-to-left override', '\u202ekcin.eth'],
  ['a combining accent', 'nick\u0301.eth'],
  ['an accented letter', 'n\u00edck.eth'],
  ['a full-width letter', '\uff4eick.eth'],
  ['an emoji', '\u{1f9d9}.eth'],
  ['another full stop', 'nick\u3002eth'],
  ['a capital letter', 'Nick.eth'],
  ['a space', 'nick .eth'],
  ['a line feed at the end', 'nick.eth\n'],
  ['markup', '<b>nick.eth'],
  ['a null byte', 'nick\0.eth'],
  ['an apostrophe', "nick's.eth"],
  ['an underscore within a label', 'ni_ck.eth'],
  ['only underscores', '__.eth'],
  ['an encoded label', 'xn--ls8h.eth'],
  ['hyphens as third and fourth character', 'ab--c.eth'],
  ['the digits of an address', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8.eth'],
  ['the ends of an address', '0x7099-79c8.eth'],
  ['an address in a lower label', 'a.0x7099.eth'],
  ['an address after an underscore', '_0x7099.eth'],
  ['one label', 'nick'],
  ['an empty label', 'nick..eth'],
  ['a full stop at the start', '.eth'],
  ['a full stop at the end', 'nick.eth.'],
  ['61 characters', `${'a'.repeat(57)}.eth`],
  ['no characters', ''],
] as const)('A name with %s is not shown (ENSIP-15)', ([, name]) => {
  expect(isShownName(name)).toBe(false)
})

test('Every shown name consists of ASCII characters that look the same in lower case and in every normal form of Unicode', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 62 }), fc.stringMatching(/^[a-z0-9_.-]{1,62}$/), (any, likely) => {
      for (const name of [any, `${any}.eth`, likely, `${likely}.eth`].filter(isShownName)) {
        expect(name).toMatch(/^[a-z0-9._-]+$/)
        expect(name.normalize('NFKC').toLowerCase()).toBe(name)
      }
    }),
  )
})
