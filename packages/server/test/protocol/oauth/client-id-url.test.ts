import { expect, test } from 'vitest'
import { clientPlace, isClientIdUrl } from '../../../src/protocol/oauth/client-id-url.ts'

test.each([
  'https://agent.example/client.json',
  'https://agent.example/a/b/client',
  'https://xn--bcher-kva.example/client.json',
  'https://agent.example/client.json?v=2',
  'https://a.b.c.d.agent.example/x',
])('A URL with https, a domain name and a path is a client id: %s', (url) => {
  expect(isClientIdUrl(url, { allowLoopback: false })).toBe(true)
  expect(isClientIdUrl(url, { allowLoopback: true })).toBe(true)
})

test.each([
  '',
  'agent.example/client.json',
  'http://agent.example/client.json',
  'ftp://agent.example/client.json',
  'https://agent.example',
  'https://agent.example/',
  'https://agent.example?x',
  'HTTPS://agent.example/client.json',
  'https://AGENT.example/client.json',
  'https://agent.example:443/client.json',
  'https://agent.example:8443/client.json',
  'https://agent.example:/client.json',
  'https://user@agent.example/client.json',
  'https://user:pass@agent.example/client.json',
  'https://bank.example%40agent.example/client.json',
  'https://agent.example/a/../client.json',
  'https://agent.example/./client.json',
  'https://agent.example/a/%2e%2e/client.json',
  'https://agent.example/client.json#x',
  'https://agent.example/client.json#',
  'https://agent.example/clïent.json',
  'https://bücher.example/client.json',
  'https://agent.example\\@bank.example/client.json',
  'https://agent.example/client json',
  'https://agent.example/client.json\n',
  ' https://agent.example/client.json',
  "https://agent.example/client'.json",
  'https://agent.example/client.json?a=%00',
  'https://agent/client.json',
  'https://localhost/client.json',
  'https://app.localhost/client.json',
  'https://127.0.0.1/client.json',
  'https://10.0.0.1/client.json',
  'https://169.254.169.254/latest',
  'https://192.168.0.1/client.json',
  'https://2130706433/client.json',
  'https://0x7f.1/client.json',
  'https://[::1]/client.json',
  'https://[::ffff:127.0.0.1]/client.json',
  'https://[2001:db8::1]/client.json',
  'https://93.184.216.34/client.json',
  'https://agent.example./client.json',
  'https://-agent.example:1/x',
  `https://agent.example/${'a'.repeat(280)}`,
])('A URL that is written otherwise, or that names an address instead of a domain, is not a client id: %s', (url) => {
  expect(isClientIdUrl(url, { allowLoopback: false })).toBe(false)
})

test('On a development machine, http and any port of loopback are accepted, and nothing else is', () => {
  for (const url of [
    'http://localhost:4000/client.json',
    'http://127.0.0.1:4000/c',
    'http://[::1]:4000/c',
    'https://localhost/c',
  ])
    expect(isClientIdUrl(url, { allowLoopback: true })).toBe(true)
  for (const url of ['http://agent.example/c', 'http://10.0.0.1/c', 'http://localhost:4000/', 'http://localhost.agent.example/c'])
    expect(isClientIdUrl(url, { allowLoopback: true })).toBe(false)
})

test('The place of a client that is not registered has the host of its client id', () => {
  expect(clientPlace('https://agent.example/c', 'http://127.0.0.1:1/cb')).toEqual({
    clientHost: '127.0.0.1:1',
    clientPublisher: 'agent.example',
  })
  expect(clientPlace('7c9e6679-7425-40de-944b-e07fc1f90ae7', 'https://app.example/cb')).toEqual({ clientHost: 'app.example' })
})
