import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isResourceUri, isSignableResourceUri } from '../../../src/protocol/oauth/resource-uri.ts'
import { forAll } from '../../support/property.ts'

test.each([
  'https://api.example.com',
  'https://api.example.com/v1?tenant=a&b=c',
  'http://localhost:4003',
  'urn:example:api',
  'HTTPS://API.example.com/~x',
])('%s is an absolute URI, and a text to sign can contain it (RFC 8707 §2)', (uri) => {
  expect(isResourceUri(uri)).toBe(true)
  expect(isSignableResourceUri(uri)).toBe(true)
})

test('A resource with percent signs is a URI, but a text to sign cannot contain it', () => {
  expect(isResourceUri('https://api.example.com/%20')).toBe(true)
  expect(isSignableResourceUri('https://api.example.com/%20')).toBe(false)
})

test.each([
  ['with a fragment', 'https://api.example.com/#a'],
  ['with an empty fragment', 'https://api.example.com/#'],
  ['relative', '/api'],
  ['without a scheme', 'api.example.com'],
  ['only a scheme', 'https:'],
  ['without a host', 'https://'],
  ['with a space', 'https://api.example.com/a b'],
  ['with a quote', 'https://api.example.com/"'],
  ['with an apostrophe', "https://api.example.com/'"],
  ['with angle brackets', '<https://api.example.com/>'],
  ['with a backslash', 'https:\\\\api.example.com'],
  ['with a stray percent sign', 'https://api.example.com/%2'],
  ['with letters outside ASCII', 'https://api.example.com/é'],
  ['with a line break', 'https://api.example.com/\n'],
  ['longer than 500 characters', `https://api.example.com/${'a'.repeat(500)}`],
  ['empty', ''],
])('A resource URI is refused if it is %s', (_, uri) => {
  expect(isResourceUri(uri)).toBe(false)
  expect(isSignableResourceUri(uri)).toBe(false)
})

test('Every accepted resource is a URL without a fragment, in ASCII', () => {
  forAll(fc.oneof(fc.webUrl({ withFragments: true, withQueryParameters: true }), fc.string({ unit: 'binary' })), (uri) => {
    if (!isResourceUri(uri)) return
    expect(uri).toMatch(/^[!-~]+$/)
    expect(new URL(uri).hash).toBe('')
  })
})
