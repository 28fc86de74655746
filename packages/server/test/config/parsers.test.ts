import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as read from '../../src/config/parsers.ts'
import { forAll } from '../support/property.ts'

const accepted = (parsed: read.Parsed<unknown>) => 'value' in parsed

describe('The URLs of the servers', () => {
  test.each([
    'https://auth.example.com',
    'https://auth.example.com:8443',
    'https://xn--bcher-kva.example',
    'http://localhost:4000',
    'http://auth.localhost',
    'http://127.0.0.1:4000',
    'http://127.9.9.9',
    'http://[::1]:4000',
  ])('The server URL %s is accepted unchanged', (url) => {
    expect(read.origin(url)).toEqual({ value: url })
  })

  test.each([
    'http://auth.example.com',
    'http://192.168.1.10:4000',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://[::2]:4000',
    'http://0.0.0.0:4000',
  ])('The server URL %s is refused, because plain http is allowed on loopback only', (url) => {
    expect(read.origin(url)).toEqual({ fault: expect.stringContaining('must use https') })
  })

  test.each([
    'https://auth.example.com/',
    'https://auth.example.com/oauth',
    'https://auth.example.com?x=1',
    'https://auth.example.com#x',
    'https://auth.example.com:443',
    'https://AUTH.example.com',
    'https://user@auth.example.com',
    ' https://auth.example.com',
  ])('The server URL "%s" is refused with a proposal, because the issuer is compared byte for byte (RFC 8414 §3.3)', (url) => {
    expect(read.origin(url)).toEqual({ fault: expect.stringContaining('did you mean https://auth.example.com?') })
  })

  test.each(['', 'auth.example.com', 'ftp://auth.example.com', 'javascript:alert(1)', 'https://', 'https:auth', 'null'])(
    'The server URL "%s" is refused, because it is not an http or https origin',
    (url) => {
      expect(accepted(read.origin(url))).toBe(false)
    },
  )

  test('Every accepted server URL equals its own origin, and uses https, a loopback host or a host under .test', () => {
    forAll(fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.string()), (text) => {
      const parsed = read.origin(text)
      if (!('value' in parsed)) return
      const url = new URL(text)
      expect(url.origin).toBe(text)
      expect(url.protocol === 'https:' || read.isLoopbackHost(url.hostname) || url.hostname.endsWith('.test')).toBe(true)
    })
  })
})

test('A listen address is a host and a port from 1 to 65535, with IPv6 in brackets', () => {
  expect(read.hostAndPort('127.0.0.1:4000')).toEqual({ value: { host: '127.0.0.1', port: 4000 } })
  expect(read.hostAndPort('[::1]:4000')).toEqual({ value: { host: '::1', port: 4000 } })
  expect(read.hostAndPort('auth:65535')).toEqual({ value: { host: 'auth', port: 65_535 } })
  expect(
    ['4000', ':4000', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:65536', '::1:4000', '[auth]:4000', 'http://x:1', 'a b:1'].filter(
      (text) => accepted(read.hostAndPort(text)),
    ),
  ).toEqual([])
})

test('Trusted proxies are addresses and networks, and a network of all addresses is refused', () => {
  expect(read.networks('10.0.0.5, 10.1.0.0/16,2001:db8::/32')).toEqual({ value: ['10.0.0.5', '10.1.0.0/16', '2001:db8::/32'] })
  expect(
    ['0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/', 'proxy.example.com', '10.0.0.5;10.0.0.6', 'true'].filter((text) =>
      accepted(read.networks(text)),
    ),
  ).toEqual([])
})

test('Chain ids are positive whole numbers, and a repeated id counts once (EIP-155)', () => {
  expect(read.chainIds('1, 8453,1')).toEqual({ value: [1, 8453] })
  expect(['', ',', '0', '-1', '0x1', '1;2', '1,two'].filter((text) => accepted(read.chainIds(text)))).toEqual([])
})

test('A numeric setting accepts decimal digits within its bounds and nothing else', () => {
  const seconds = read.integer(10, 600, 'seconds')
  expect([seconds('10'), seconds('600')]).toEqual([{ value: 10 }, { value: 600 }])
  expect(
    ['9', '601', '', '1e2', '10.0', ' 10', '+10', '0x10', '10m', '99999999999999'].filter((text) => accepted(seconds(text))),
  ).toEqual([])
})

test('A default resource is an absolute URI without a fragment, in characters that a signed text can contain (RFC 8707 §2)', () => {
  expect(
    ['https://api.example.com/', 'http://localhost:4003', 'urn:example:api'].every((text) => accepted(read.resourceUri(text))),
  ).toBe(true)
  expect(
    [
      'api.example.com',
      '/api',
      'https://api.example.com/#x',
      'https://api.example.com/"x"',
      'https://a.example/%20',
      'https://a.example/ x',
    ].filter((text) => accepted(read.resourceUri(text))),
  ).toEqual([])
})

test('Scope descriptions are a JSON object from scope names to texts of 1 to 200 characters', () => {
  expect(read.scopeDescriptions('{"profile":"see your profile"}')).toEqual({ value: { profile: 'see your profile' } })
  expect(
    ['', 'profile', '[]', 'null', '{"a b":"x"}', '{"a":""}', '{"a":1}', `{"a":"${'x'.repeat(201)}"}`].filter((text) =>
      accepted(read.scopeDescriptions(text)),
    ),
  ).toEqual([])
})

test('The fault of a setting is one line for every value', () => {
  const parsers = [
    read.origin,
    read.hostAndPort,
    read.chainIds,
    read.networks,
    read.resourceUri,
    read.scopeDescriptions,
    read.onOff,
    read.choice('a', 'b'),
    read.secret,
  ]
  forAll(fc.string({ unit: 'binary', maxLength: 300 }), fc.constantFrom(...parsers), (text, parse) => {
    const parsed = parse(text)
    if ('fault' in parsed) expect(parsed.fault).not.toMatch(/[\n\r]/)
  })
})

test('The page of a wallet window is an https URL without user, query and fragment; http is for loopback only', () => {
  expect(read.pageUrl('https://keys.example.com/connect')).toEqual({ value: 'https://keys.example.com/connect' })
  expect(read.pageUrl('https://keys.example.com')).toEqual({ value: 'https://keys.example.com/' })
  expect(read.pageUrl('http://localhost:4000/connect')).toHaveProperty('value')
  for (const wrong of ['', 'keys.example.com', 'http://keys.example.com', 'javascript:alert(1)', 'https://a:b@keys.example.com'])
    expect(read.pageUrl(wrong)).toHaveProperty('fault')
  for (const wrong of ['https://keys.example.com/?a=b', 'https://keys.example.com/#a'])
    expect(read.pageUrl(wrong)).toHaveProperty('fault')
})

test('The project id of WalletConnect is 32 hexadecimal digits', () => {
  expect(read.projectId('0123456789abcdef0123456789abcdef')).toEqual({ value: '0123456789abcdef0123456789abcdef' })
  for (const wrong of ['', '0123', '0123456789ABCDEF0123456789ABCDEF', '0123456789abcdef0123456789abcdef0'])
    expect(read.projectId(wrong)).toHaveProperty('fault')
})

test('The relay of WalletConnect is a wss origin, which a content policy can name; ws is for loopback only', () => {
  expect(read.relayUrl('wss://relay.walletconnect.org')).toEqual({ value: 'wss://relay.walletconnect.org' })
  expect(read.relayUrl('ws://127.0.0.1:4000')).toHaveProperty('value')
  for (const wrong of [
    'https://relay.example.com',
    'ws://relay.example.com',
    'wss://relay.example.com/',
    'wss://a:b@relay.example.com',
  ])
    expect(read.relayUrl(wrong)).toHaveProperty('fault')
  for (const wrong of [
    'wss://relay.example.com/path',
    'wss://relay.example.com?a=b',
    'wss://relay.example.com; script-src *',
    'wss://relay;x',
  ])
    expect(read.relayUrl(wrong)).toHaveProperty('fault')
})
