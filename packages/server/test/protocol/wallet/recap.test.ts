import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digestInRecap, encodeRecap, translateRecap } from '../../../src/protocol/wallet/recap.ts'
import { forAll } from '../../support/property.ts'
import { resourceUris, scopeLists } from './arbitraries.ts'
import { decodeRecapUri, translate } from './recap-reference.ts'

/** The example of ERC-5573, "ReCap SIWE Extension". */
const published = {
  uri: 'urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9leGFtcGxlLmNvbSI6eyJleGFtcGxlL2FwcGVuZCI6W10sImV4YW1wbGUvcmVhZCI6W10sIm90aGVyL2FjdGlvbiI6W119LCJteTpyZXNvdXJjZTp1cmkuMSI6eyJleGFtcGxlL2FwcGVuZCI6W10sImV4YW1wbGUvZGVsZXRlIjpbXX0sIm15OnJlc291cmNlOnVyaS4yIjp7ImV4YW1wbGUvYXBwZW5kIjpbXX0sIm15OnJlc291cmNlOnVyaS4zIjp7ImV4YW1wbGUvYXBwZW5kIjpbXX19LCJwcmYiOltdfQ',
  sentence:
    "I further authorize the stated URI to perform the following actions on my behalf: (1) 'example': 'append', 'read' for 'https://example.com'. (2) 'other': 'action' for 'https://example.com'. (3) 'example': 'append', 'delete' for 'my:resource:uri.1'. (4) 'example': 'append' for 'my:resource:uri.2'. (5) 'example': 'append' for 'my:resource:uri.3'.",
}

const capabilities = fc.record({
  scopes: scopeLists.filter((scopes) => scopes.length > 0),
  resources: fc.uniqueArray(resourceUris, { minLength: 1, maxLength: 6 }),
})

test('The reference implementation of these tests gives the example of the standard (ERC-5573)', () => {
  expect(translate(decodeRecapUri(published.uri))).toBe(published.sentence)
})

test('A ReCap is encoded as exactly these bytes and translated to exactly this sentence (ERC-5573)', () => {
  const capability = { scopes: ['read', 'enhancement'], resources: ['urn:a', 'https://api.example.com/'] }
  expect(Buffer.from(encodeRecap(capability).slice('urn:recap:'.length), 'base64url').toString()).toBe(
    '{"att":{"https://api.example.com/":{"oauth/enhancement":[{}],"oauth/read":[{}]},"urn:a":{"oauth/enhancement":[{}],"oauth/read":[{}]}}}',
  )
  expect(translateRecap(capability)).toBe(
    "I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement', 'read' for 'https://api.example.com/'. (2) 'oauth': 'enhancement', 'read' for 'urn:a'.",
  )
})

test('A digest limits every ability to one action, is not part of the sentence, and can be read (ERC-5573)', () => {
  const capability = { scopes: ['read', 'write'], resources: ['urn:a'] }
  const digest = 'A-_'.padEnd(43, 'x')
  const uri = encodeRecap({ ...capability, digest })
  expect(decodeRecapUri(uri)).toEqual({ att: { 'urn:a': { 'oauth/read': [{ digest }], 'oauth/write': [{ digest }] } } })
  expect(translateRecap({ ...capability, digest })).toBe(translateRecap(capability))
  expect([digestInRecap(uri), digestInRecap(encodeRecap(capability)), digestInRecap('urn:recap:'), digestInRecap('')]).toEqual([
    digest,
    '',
    '',
    '',
  ])
  for (const other of ['', 'a'.repeat(42), `${'a'.repeat(43)}=`])
    expect(() => encodeRecap({ ...capability, digest: other })).toThrow(RangeError)
})

test('The scopes of single resources are paired with them, and the sentence is the standard translation of the URI (ERC-5573)', () => {
  const capability = {
    scopes: ['a', 'b'],
    resources: ['urn:b', 'urn:a'],
    scopesByResource: { 'urn:a': ['openid', 'a', 'a'], 'urn:b': ['b'] },
  }
  const uri = encodeRecap(capability)
  expect(decodeRecapUri(uri)).toEqual({
    att: { 'urn:a': { 'oauth/a': [{}], 'oauth/openid': [{}] }, 'urn:b': { 'oauth/b': [{}] } },
  })
  expect(translateRecap(capability)).toBe(translate(decodeRecapUri(uri)))
})

test('A ReCap URI is base64url without padding for every length (RFC 4648 §5)', () => {
  for (const path of ['', 'a', 'aa', 'aaa']) {
    // Base64 writes `~~~???` with + and /, which base64url must not contain.
    const uri = encodeRecap({ scopes: ['read'], resources: [`https://a.example/${path}?~~~???`] })
    expect(uri).toMatch(/^urn:recap:[A-Za-z0-9_-]+$/)
    expect(Object.keys(decodeRecapUri(uri).att)).toEqual([`https://a.example/${path}?~~~???`])
  }
})

test('The sentence is the standard translation of the ReCap URI for every scope and resource (ERC-5573)', () => {
  forAll(capabilities, (capability) => {
    expect(translateRecap(capability)).toBe(translate(decodeRecapUri(encodeRecap(capability))))
  })
})

test('A ReCap URI allows every given scope on every given resource, without restriction, and nothing else', () => {
  forAll(capabilities, ({ scopes, resources }) => {
    const abilities = Object.fromEntries(scopes.map((scope) => [`oauth/${scope}`, [{}]]))
    const att = Object.fromEntries(resources.map((resource) => [resource, abilities]))
    expect(decodeRecapUri(encodeRecap({ scopes, resources }))).toEqual({ att })
  })
})

test('The keys of a ReCap are sorted by byte value, whatever the order of scopes and resources is (ERC-5573)', () => {
  forAll(capabilities, fc.gen(), ({ scopes, resources }, gen) => {
    const shuffled = (list: string[]) => gen(fc.shuffledSubarray, list, { minLength: list.length })
    const uri = encodeRecap({ scopes: shuffled(scopes), resources: shuffled(resources) })
    expect(uri).toBe(encodeRecap({ scopes, resources }))
    const { att } = decodeRecapUri(uri)
    for (const keys of [Object.keys(att), ...Object.values(att).map(Object.keys)]) {
      expect(keys).toEqual(
        keys
          .map((key) => Buffer.from(key))
          .sort(Buffer.compare)
          .map(String),
      )
    }
  })
})

test('A scope or resource that is given twice is written once in a ReCap', () => {
  const twice = { scopes: ['read', 'read'], resources: ['urn:a', 'urn:a'] }
  const once = { scopes: ['read'], resources: ['urn:a'] }
  expect([encodeRecap(twice), translateRecap(twice)]).toEqual([encodeRecap(once), translateRecap(once)])
})

describe('Capabilities that a text cannot contain', () => {
  test.each([
    { scopes: [], resources: ['urn:a'] },
    { scopes: ['read'], resources: [] },
    ...['', "a'", 'a b', 'a/b', 'é', 'a'.repeat(65), 'a\n'].map((scope) => ({ scopes: [scope], resources: ['urn:a'] })),
    ...['', 'a', 'urn:', "urn:'", 'urn:%20', 'urn:a b', 'urn:"', 'urn:é', 'urn:a\n', 'urn:[a]', 'urn:a#b'].map((resource) => ({
      scopes: ['read'],
      resources: [resource],
    })),
  ])('Encoding or translating this ReCap throws a RangeError: %j', (capability) => {
    expect(() => encodeRecap(capability)).toThrow(RangeError)
    expect(() => translateRecap(capability)).toThrow(RangeError)
  })
})
