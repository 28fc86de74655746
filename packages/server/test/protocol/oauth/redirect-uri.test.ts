import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseForm, queryOf } from '../../../src/protocol/oauth/form.ts'
import {
  appendToRedirectUri,
  type RedirectUriFault,
  redirectUriFault,
  redirectUriMatches,
  redirectUriPlace,
} from '../../../src/protocol/oauth/redirect-uri.ts'
import { processorMs } from '../../support/processor-time.ts'
import { forAll } from '../../support/property.ts'

describe('Redirect URIs that may be registered', () => {
  test.each([
    'https://app.example.net/callback',
    'https://app.example.net',
    'https://app.example.net:8443/a;b/c?d=e&f=%20',
    'https://app.example.net/code?decode=a&codes=b&my_state=c&Code=d',
    'https://xn--bcher-kva.example/cb',
    'https://[2001:db8::1]/cb',
    'HTTPS://app.example.net/cb',
    "https://app.example.net/~a!$&'()*+,;=:@",
    'http://localhost/cb',
    'http://localhost:3000/cb',
    'http://app.localhost/cb',
    'http://127.0.0.1:8080/cb',
    'http://127.9.8.7/cb',
    'http://[::1]:8080/cb',
  ])('The redirect URI %s may be registered', (uri) => {
    expect(redirectUriFault(uri, 'web')).toBeNull()
    expect(redirectUriFault(uri, 'private_use')).toBeNull()
  })

  test.each(['com.example.app:/oauth2redirect', 'com.example.app:cb', 'com.example.app://cb?a=b', 'net.example.my-app+x:/'])(
    'The redirect URI %s may be registered by a native app only (RFC 8252 §7.1)',
    (uri) => {
      expect(redirectUriFault(uri, 'private_use')).toBeNull()
      expect(redirectUriFault(uri, 'web')).toBe('scheme_not_allowed')
    },
  )
})

describe('Redirect URIs that may not be registered', () => {
  test.each<[RedirectUriFault, string]>([
    ['not_rfc3986', ''],
    ['not_rfc3986', '/callback'],
    ['not_rfc3986', 'app.example.net/callback'],
    ['not_rfc3986', 'https://app.example.net/a b'],
    ['not_rfc3986', ' https://app.example.net/'],
    ['not_rfc3986', 'https://app.example.net/\n'],
    ['not_rfc3986', 'https://app.example.net/"'],
    ['not_rfc3986', 'https://app.example.net/<a>'],
    ['not_rfc3986', 'https://app.example.net\\@evil.example/'],
    ['not_rfc3986', 'https://app.example.net/%'],
    ['not_rfc3986', 'https://app.example.net/%2'],
    ['not_rfc3986', 'https://app.example.net/%zz'],
    ['not_rfc3986', 'https://app.example.net/é'],
    ['not_rfc3986', 'https://bücher.example/'],
    ['not_rfc3986', 'https://app.example.net/[a]'],
    ['not_rfc3986', 'https://app.example.net/?a[]=b'],
    ['not_rfc3986', 'https://'],
    ['not_rfc3986', 'https:///callback'],
    ['not_rfc3986', 'https://:443/'],
    ['not_rfc3986', 'https://app.example.net:99999/'],
    ['not_rfc3986', 'https://[::1/'],
    ['not_rfc3986', 'https://app.example.net:x/'],
    ['not_rfc3986', 'https://[v1.a]/'],
    ['has_fragment', 'https://app.example.net/#a'],
    ['has_fragment', 'https://app.example.net/#'],
    ['has_fragment', 'com.example.app:/cb#a'],
    ['has_answer_parameter', 'https://app.example.net/?code=a'],
    ['has_answer_parameter', 'https://app.example.net/?a=b&state'],
    ['has_answer_parameter', 'https://app.example.net/?iss='],
    ['has_answer_parameter', 'https://app.example.net/?error=a&error_description=b'],
    ['has_answer_parameter', 'https://app.example.net/?c%6Fde=a'],
    ['has_answer_parameter', 'com.example.app:/cb?%73tate=a'],
    ['has_userinfo', 'com.example.app://user@host/cb'],
    ['has_wildcard', 'https://*.example.net/'],
    ['has_wildcard', 'https://app.example.*:443/'],
    ['has_userinfo', 'https://app.example.net@evil.example/'],
    ['has_userinfo', 'https://user:password@app.example.net/'],
    ['has_userinfo', 'https://@app.example.net/'],
    ['http_outside_loopback', 'http://app.example.net/'],
    ['http_outside_loopback', 'http://localhost.evil.example/'],
    ['http_outside_loopback', 'http://127.0.0.1.evil.example/'],
    ['http_outside_loopback', 'http://evillocalhost/'],
    ['http_outside_loopback', 'http://0.0.0.0/'],
    ['http_outside_loopback', 'http://10.0.0.1/'],
    ['http_outside_loopback', 'http://[::]/'],
    ['http_outside_loopback', 'HTTP://app.example.net/'],
    ['scheme_not_allowed', 'javascript:alert(1)'],
    ['scheme_not_allowed', 'data:text/html,a'],
    ['scheme_not_allowed', 'file:///etc/passwd'],
    ['scheme_not_allowed', 'urn:ietf:wg:oauth:2.0:oob'],
    ['scheme_not_allowed', 'app:/cb'],
    ['scheme_not_allowed', 'https:app.example.net'],
    ['scheme_not_allowed', 'https:/app.example.net'],
    ['too_long', `https://app.example.net/${'a'.repeat(1977)}`],
  ])('A redirect URI is refused as %s: %s', (fault, uri) => {
    expect(redirectUriFault(uri, 'private_use')).toBe(fault)
    if (!uri.startsWith('com.')) expect(redirectUriFault(uri, 'web')).toBe(fault)
  })

  test.each(['com.example.app:/[a]', 'com.example.app://[a/', 'com.example.app:a[b]'])(
    'The redirect URI %s is refused because RFC 3986 does not allow its brackets',
    (uri) => {
      expect(redirectUriFault(uri, 'private_use')).toBe('not_rfc3986')
    },
  )

  test('A redirect URI of 2,000 characters is not too long', () => {
    expect(redirectUriFault(`https://app.example.net/${'a'.repeat(1976)}`, 'web')).toBeNull()
  })

  test('A hostile redirect URI of thousands of characters is refused quickly', () => {
    const spent = processorMs(() => {
      for (const piece of ['%', '%2', 'a:', '://', '[', '[]', '@', '127.0.0.1:', 'https://'])
        redirectUriFault(`https://${piece.repeat(600)}\n`, 'private_use')
    })
    expect(spent).toBeLessThan(200)
  })
})

describe('The redirect URI of a request (RFC 9700 §2.1)', () => {
  const registered = ['https://app.example.net/callback', 'https://app.example.net/other?a=b']

  test.each(registered)(
    'A request may name the registered redirect URI %s exactly as it is registered (RFC 9700 §2.1)',
    (uri) => {
      expect(redirectUriMatches(registered, uri, 'exact')).toBe(true)
    },
  )

  test.each([
    'https://app.example.net/callback/',
    'https://app.example.net/callback?',
    'https://app.example.net/callback#',
    'https://app.example.net/Callback',
    'https://APP.example.net/callback',
    'HTTPS://app.example.net/callback',
    'https://app.example.net:443/callback',
    'https://app.example.net/./callback',
    'https://app.example.net/%63allback',
    'https://app.example.net//callback',
    'https://app.example.net/callback/../callback',
    'https://app.example.net/callback?a=b',
    'https://app.example.net/other',
    'https://app.example.net/other?a=b&c=d',
    'https://app.example.net.evil.example/callback',
    'http://app.example.net/callback',
    ' https://app.example.net/callback',
    '',
  ])('A request may not name a redirect URI that differs from the registered ones (RFC 9700 §2.1): %j', (uri) => {
    expect(redirectUriMatches(registered, uri, 'exact')).toBe(false)
    expect(redirectUriMatches(registered, uri, 'any_on_loopback')).toBe(false)
  })

  test('Without a registered redirect URI none matches', () => {
    expect(redirectUriMatches([], '', 'any_on_loopback')).toBe(false)
    expect(redirectUriMatches([], 'http://127.0.0.1/', 'any_on_loopback')).toBe(false)
  })
})

describe('The loopback redirect URI of a native app (RFC 8252 §7.3)', () => {
  const registered = ['http://127.0.0.1/cb', 'http://[::1]:8080/cb?a=b', 'http://localhost/cb', 'https://127.0.0.1/cb']

  test.each([
    'http://127.0.0.1:1/cb',
    'http://127.0.0.1:65535/cb',
    'http://127.0.0.1/cb',
    'http://[::1]/cb?a=b',
    'http://[::1]:9999/cb?a=b',
    'http://localhost/cb',
    'http://localhost:8080/cb',
  ])("A native app's request may change the port of a registered loopback redirect URI (RFC 8252 §7.3): %s", (uri) => {
    expect(redirectUriMatches(registered, uri, 'any_on_loopback')).toBe(true)
    expect(redirectUriMatches(registered, uri, 'exact')).toBe(registered.includes(uri))
  })

  test.each([
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:100000/cb',
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:-1/cb',
    'http://127.0.0.1:80a/cb',
    'http://127.0.0.1:8080/cb/',
    'http://127.0.0.1:8080/cb?a=b',
    'http://127.0.0.1:8080/cb#',
    'http://127.0.0.1:8080@evil.example/cb',
    'http://127.0.0.1:8080.evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://127.0.0.2:8080/cb',
    'http://[::1]:8080/cb',
    'http://[0:0:0:0:0:0:0:1]:8080/cb?a=b',
    'http://localhost.:8080/cb',
    'http://app.localhost:8080/cb',
    'https://127.0.0.1:8080/cb',
    'HTTP://127.0.0.1:8080/cb',
    'http://127.1:8080/cb',
  ])("A native app's request may not change anything but the port (RFC 8252 §7.3): %s", (uri) => {
    expect(redirectUriMatches(registered, uri, 'any_on_loopback')).toBe(false)
  })
})

test.each([
  ['https://app.example.net/callback', 'app.example.net'],
  ['https://app.example.net:8443/callback', 'app.example.net:8443'],
  ['https://APP.example.net:443/', 'app.example.net'],
  ['https://xn--e1afmkfd.example/', 'xn--e1afmkfd.example'],
  ['http://[::1]:3000/', '[::1]:3000'],
])('The consent page shows redirect URI %s as host %s', (uri, host) => {
  expect(redirectUriPlace(uri)).toEqual({ clientHost: host })
})

test.each([
  ['com.example.app:/cb', 'com.example.app'],
  ['login.bank.example:/cb', 'login.bank.example'],
  ['login.bank.example://login.bank.example/cb', 'login.bank.example'],
])('The redirect URI %s has no host; it opens an app on the device by the scheme %s (RFC 8252 §7.1)', (uri, scheme) => {
  expect(redirectUriPlace(uri)).toEqual({ clientHost: '', clientScheme: scheme })
})

describe('Appending a response to a redirect URI (RFC 6749 §4.1.2)', () => {
  test.each([
    ['https://app.example.net/cb', 'https://app.example.net/cb?code=c&state=%20'],
    ['https://app.example.net', 'https://app.example.net?code=c&state=%20'],
    ['https://app.example.net/cb?', 'https://app.example.net/cb?code=c&state=%20'],
    ['https://app.example.net/cb?a=b', 'https://app.example.net/cb?a=b&code=c&state=%20'],
    ['https://app.example.net/cb?a=b&', 'https://app.example.net/cb?a=b&code=c&state=%20'],
    ['https://app.example.net/cb??', 'https://app.example.net/cb??&code=c&state=%20'],
    ['https://app.example.net/cb?a=b?', 'https://app.example.net/cb?a=b?&code=c&state=%20'],
    ["https://app.example.net/cb?a=%2f%2F+'", "https://app.example.net/cb?a=%2f%2F+'&code=c&state=%20"],
    ['com.example.app:/cb', 'com.example.app:/cb?code=c&state=%20'],
  ])('A response is appended without changing the redirect URI %s (RFC 6749 §4.1.2)', (uri, answer) => {
    expect(
      appendToRedirectUri(uri, [
        ['code', 'c'],
        ['state', '%20'],
      ]),
    ).toBe(answer)
  })

  test('Response parameters are read after any query of the redirect URI (RFC 6749 §4.1.2)', () => {
    forAll(fc.webUrl({ withQueryParameters: true }), fc.string({ unit: 'grapheme' }), (uri, text) => {
      const answer = appendToRedirectUri(uri, [['state', encodeURIComponent(text)]])
      expect(answer.startsWith(uri)).toBe(true)
      expect(parseForm(queryOf(answer)).get('state')?.at(-1)?.text).toBe(text)
    })
  })
})
