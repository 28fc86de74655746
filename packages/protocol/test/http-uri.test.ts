import { describe, expect, test } from 'vitest'
import { normalizeHttpUri } from '../src/http-uri.ts'

describe('Equivalent URIs (RFC 9449 §4.3, RFC 3986 §6.2.2, §6.2.3)', () => {
  test.each([
    ['HTTPS://Auth.Example.COM/oauth/token', 'capitals in scheme and host'],
    ['https://auth.example.com:443/oauth/token', 'the default port'],
    ['https://auth.example.com:/oauth/token', 'an empty port'],
    ['https://auth.example.com/oauth/token?a=b', 'a query'],
    ['https://auth.example.com/oauth/token#top', 'a fragment'],
    ['https://auth.example.com/o%61uth/%74oken', 'unnecessary escapes'],
    ['https://auth.example.com/x/./../oauth/token', 'dot segments'],
  ])("%s is equivalent to the token endpoint's URI despite %s (RFC 9449 §4.3)", (uri) => {
    expect(normalizeHttpUri(uri)).toBe('https://auth.example.com/oauth/token')
  })

  test.each([
    ['http://[::1]:4000', 'http://[::1]:4000/'],
    ['http://localhost:80', 'http://localhost/'],
    ['https://a.example/%2f%c3%a9', 'https://a.example/%2F%C3%A9'],
    ['https://a.example/a/..', 'https://a.example/'],
    ['https://a.example/a/b/.', 'https://a.example/a/b/'],
    ['https://a.example/../..', 'https://a.example/'],
  ])('%s is normalized to %s (RFC 3986 §6.2.2, §6.2.3)', (uri, normal) => {
    expect(normalizeHttpUri(uri)).toBe(normal)
  })
})

describe('URIs that are not equivalent', () => {
  test.each([
    'http://auth.example.com/oauth/token',
    'https://auth.example.com:8443/oauth/token',
    'https://auth.example.com/oauth/token/',
    'https://auth.example.com/oauth//token',
    'https://auth.example.com/OAuth/token',
    'https://auth.example.com/oauth%2Ftoken',
    'https://auth.example.com./oauth/token',
  ])("%s is not equivalent to the token endpoint's URI", (uri) => {
    expect(normalizeHttpUri(uri)).not.toBe('https://auth.example.com/oauth/token')
  })
})

describe('Texts that are not http or https URIs (RFC 3986)', () => {
  test.each([
    '',
    'https:/auth.example.com/oauth/token',
    'https:\\\\auth.example.com\\oauth\\token',
    'https://auth.example.com\\@evil.example/oauth/token',
    'https://user@auth.example.com/oauth/token',
    'https://auth.ex\tample.com/oauth/token',
    ' https://auth.example.com/oauth/token',
    'https://auth.example.com/oauth/token\n',
    'https://auth.example.com/oauth/tok en',
    'https://auth.example.com/oauth/%7',
    'https://ａuth.example.com/oauth/token',
    '//auth.example.com/oauth/token',
    'ftp://auth.example.com/oauth/token',
    'https://auth.example.com:443443/oauth/token',
  ])('%j is refused as an http or https URI, even if a URL parser accepts it', (uri) => {
    expect(normalizeHttpUri(uri)).toBeNull()
  })
})
