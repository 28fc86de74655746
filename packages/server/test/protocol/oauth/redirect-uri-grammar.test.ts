import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseForm, queryOf } from '../../../src/protocol/oauth/form.ts'
import {
  appendToRedirectUri,
  isLoopbackHost,
  redirectUriFault,
  redirectUriMatches,
  redirectUriPlace,
} from '../../../src/protocol/oauth/redirect-uri.ts'
import { runs } from '../../support/runs.ts'

// The grammar of RFC 3986 appendix A. Registered redirect URIs must match it, because texts to sign contain them.
const pchar = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})`
const regName = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*`
const authority = String.raw`(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*@)?(?:${regName}|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?`
const hierPart = String.raw`(?://${authority}(?:/${pchar}*)*|/(?:${pchar}+(?:/${pchar}*)*)?|${pchar}+(?:/${pchar}*)*)`
const RFC3986 = new RegExp(String.raw`^[A-Za-z][A-Za-z0-9+\-.]*:${hierPart}?(?:\?(?:${pchar}|[/?])*)?$`)

test('A registered redirect URI matches RFC 3986, has no fragment, and uses https, loopback http or a scheme with a dot', () => {
  const pieces = fc.constantFrom(
    'https://',
    'http://',
    'com.example.app:',
    '//',
    '/',
    'localhost',
    '127.0.0.1',
    '[::1]',
    ':80',
    '@',
    '?code=',
    '&st%61te',
    '?',
    '#',
    '[',
    ']',
    '%41',
    '%',
    'a',
    '.',
    "'",
    '\\',
    ' ',
    'é',
    ':',
  )
  const uris = fc.oneof(
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.array(pieces, { maxLength: 10 }).map((parts) => parts.join('')),
    fc.array(pieces, { maxLength: 8 }).map((parts) => `https://app.example.net${parts.join('')}`),
    fc.array(pieces, { maxLength: 8 }).map((parts) => `com.example.app:${parts.join('')}`),
  )
  fc.assert(
    fc.property(uris, fc.boolean(), (uri, native) => {
      if (redirectUriFault(uri, native ? 'private_use' : 'web') !== null) return
      expect(uri).toMatch(RFC3986)
      const { protocol, hostname, username, hash } = new URL(uri)
      expect(
        protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname)) || (native && protocol.includes('.')),
      ).toBe(true)
      if (protocol.startsWith('http')) expect([username, hash]).toEqual(['', ''])
      expect(redirectUriMatches([uri], uri, native ? 'any_on_loopback' : 'exact')).toBe(true)
      const answer = parseForm(
        queryOf(
          appendToRedirectUri(uri, [
            ['code', 'a'],
            ['state', 'a'],
            ['iss', 'a'],
          ]),
        ),
      )
      for (const name of ['code', 'state', 'iss']) expect(answer.get(name)?.map(({ text }) => text)).toEqual(['a'])
      const { clientHost, clientScheme } = redirectUriPlace(uri)
      expect(/^https?:/i.test(uri) ? clientHost : clientScheme).toBeTruthy()
      expect(clientHost === '').toBe(clientScheme !== undefined)
    }),
    { numRuns: runs * 3 },
  )
})
