/** Names that unregistered clients give themselves: a name must not read as another host. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readClientName } from '../../../src/domain/clients/client-name.ts'
import { forAll } from '../../support/property.ts'

const OWN_HOST = 'agent.example'

/** Full stops, middle dots and dots of every kind that a reader may take for the full stop of a host name. */
const DOTS = Array.from(
  '.\u00b7\u0387\u0589\u0660\u06d4\u06f0\u0701\u0702\u1362\u1427\u166e\u16eb\u2022\u2024\u2027\u2219\u22c5\u25aa\u25cf\u2e31' +
    '\u2e3c\u2cf9\u3002\u30fb\ua4f8\ua60e\ua6f3\ua78f\ufe12\ufe52\uff0e\uff61\uff65\u{10101}\u{10a50}\u{1d16d}\u{26ab}\u{1f784}',
)

test.each(DOTS)('A name that reads as a host is refused, with the dot %j too', (dot) => {
  expect(readClientName(`paypal${dot}com`, OWN_HOST)).toBeNull()
  expect(readClientName(`Sign in at paypal${dot}com, please`, null)).toBeNull()
})

test.each([
  'bank.example',
  'https://bank.example/login',
  'login@bank.example',
  'paypal.c0m',
  'paypal.com.',
  'paypal\u200a.\u200acom',
  'ｐａｙｐａｌ．ｃｏｍ',
  '例え.テスト',
  'paypal.xn--p1ai',
  'xn--pypal-4ve',
  'xn\u2011-pypal-4ve',
  '127.0.0.1',
  '[2001:db8::1]',
  '::1',
  'fe80::1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '017700000001',
  'evilagent.example',
  'login.agent.example',
])('The name %j is refused: it reads as a host or an address', (name) => {
  expect(readClientName(name, OWN_HOST)).toBeNull()
})

test('A name may contain exactly the host of the client id, and not a host above it, which many clients may share', () => {
  expect(readClientName('agent.example for desktop', OWN_HOST)).toBe('agent.example for desktop')
  expect(readClientName('Agent (agent.example).', OWN_HOST)).toBe('Agent (agent.example).')
  expect(readClientName('github.io', 'mallory.github.io')).toBeNull()
  expect(readClientName('Official github.io app', 'mallory.github.io')).toBeNull()
  expect(readClientName('mallory.github.io', 'mallory.github.io')).toBe('mallory.github.io')
})

test.each([
  'p\u0430ypal',
  'm\u0435tamask',
  'goo\u03bfgle',
  '\u0410pple',
  'payp\u0251l\u0261\u03b9',
  'micro\u0455oft',
  'paypa\u13de',
])('The name %j is refused: it mixes Latin letters with those of another alphabet in one word', (name) => {
  expect(readClientName(name, OWN_HOST)).toBeNull()
})

test.each([
  'Claude Code (plugin:notes)',
  'Visual Studio Code – Insiders',
  'C++ Tool & Friends',
  'gpt-4.1 agent',
  'mcp-remote 0.1.29',
  '@scope/inspector',
  '.NET Agent',
  'A.I. Assistant',
  'J.P. Agents, Inc.',
  '🦊 Fox Agent™ ®',
  'Агент',
  'Βοηθός',
  'मेरा सहायक',
  'المساعد ٢٠٢٦',
  '工具、助手「一」',
  'LINE公式アカウント',
  'Agent Агент',
])('The name %j is accepted', (name) => {
  expect(readClientName(name, OWN_HOST)).toBe(name)
})

describe('Properties', () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}[a-z]$/)
  const text = fc.stringMatching(/^[A-Za-z ]{0,12}$/)

  test('A name with any two labels and any dot between them is refused, wherever they stand', () => {
    forAll(label, label, fc.constantFrom(...DOTS), text, text, (first, second, dot, before, after) => {
      expect(readClientName(`${before} ${first}${dot}${second} ${after}`, OWN_HOST)).toBeNull()
    })
  })

  test('A name with any IPv4 address is refused', () => {
    forAll(fc.ipV4(), text, (address, before) => {
      expect(readClientName(`${before} ${address}`, OWN_HOST)).toBeNull()
    })
  })

  test('A name with any IPv6 address is refused', () => {
    forAll(fc.ipV6(), text, (address, before) => {
      expect(readClientName(`${before} ${address}`, OWN_HOST)).toBeNull()
    })
  })

  test('An accepted name has no word that a browser would take for another host', () => {
    forAll(fc.string({ unit: 'grapheme', maxLength: 40 }), (name) => {
      const accepted = readClientName(name, null)
      for (const word of (accepted ?? '').split(/\s+/)) {
        const host = URL.canParse(`http://${word}/`) ? new URL(`http://${word}/`).hostname : ''
        // No name resolves that begins with an empty label, such as `.NET`.
        expect(host.replace(/^\.+|\.$/g, '')).not.toMatch(/\.[a-z]{2,}$|^\[/)
      }
    })
  })
})
