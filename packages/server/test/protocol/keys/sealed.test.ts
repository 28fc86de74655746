import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { PREFIXES, type SealPurpose, seal, sealBytes, unseal, unsealBytes } from '../../../src/protocol/keys/sealed.ts'
import { forAll } from '../../support/property.ts'
import { newKey, ringOf } from './rings.ts'

const PURPOSES: SealPurpose[] = Object.values(PREFIXES)
const ring = ringOf()

test('No two purposes have the same prefix', () => {
  expect(new Set(PURPOSES).size).toBe(PURPOSES.length)
})

test('Any JSON value opens from its seal unchanged', () => {
  forAll(fc.jsonValue({ stringUnit: 'binary' }), fc.constantFrom(...PURPOSES), (value, purpose) => {
    expect(unseal(ring, purpose, seal(ring, purpose, value))).toEqual(JSON.parse(JSON.stringify(value)))
  })
})

test('A seal shows its purpose and key id, is safe in a URL, hides its content, and is different each time', () => {
  const texts = Array.from({ length: 200 }, () => seal(ring, 'grc', { wallet: 'wallet-1' }))
  expect(new Set(texts).size).toBe(200)
  for (const text of texts) {
    expect(text).toMatch(/^grc\.[0-9a-f]{10}\.[A-Za-z0-9_-]+$/)
    expect(encodeURIComponent(text)).toBe(text)
    expect(Buffer.from(text.slice(15), 'base64url').toString('latin1')).not.toContain('wallet-1')
  }
})

test('A seal of one purpose does not open as another, even if its prefix is replaced', () => {
  for (const purpose of PURPOSES) {
    const text = seal(ring, purpose, { a: 1 })
    for (const other of PURPOSES.filter((each) => each !== purpose)) {
      expect(unseal(ring, other, text)).toBeUndefined()
      expect(unseal(ring, other, other + text.slice(3))).toBeUndefined()
      expect(unseal(ring, purpose, other + text.slice(3))).toBeUndefined()
    }
  }
})

test('A seal does not open if any one of its characters or bits is changed', () => {
  const text = seal(ring, 'grl', { a: 'value' })
  for (let index = 0; index < text.length; index++) {
    for (const character of ['A', 'B', 'a', '0', '-', '_', '.', '=', ' ', 'é', '\0']) {
      if (character !== text[index]) expect(openWithCharacter(text, index, character), `${index}: ${character}`).toBeUndefined()
    }
  }
  const [purpose, keyId, body = ''] = text.split('.')
  const bytes = Buffer.from(body, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(unseal(ring, 'grl', `${purpose}.${keyId}.${changed.toString('base64url')}`), `bit ${bit}`).toBeUndefined()
  }
})

test('A seal has exactly one encoding: a changed unused bit, padding or white space is refused (RFC 4648 §3.5)', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  // Three lengths, so that the last character has zero, two and four unused bits.
  for (const value of ['a', 'ab', 'abc']) {
    const text = seal(ring, 'grv', value)
    const opening = alphabet.split('').filter((character) => unseal(ring, 'grv', text.slice(0, -1) + character) !== undefined)
    expect(opening).toEqual([text.at(-1)])
    for (const tail of ['=', '==', '.', ' ', '\n', 'A']) expect(unseal(ring, 'grv', text + tail)).toBeUndefined()
    expect(unseal(ring, 'grv', ` ${text}`)).toBeUndefined()
  }
})

test('A shortened seal does not open', () => {
  const text = seal(ring, 'grc', { a: 1 })
  for (let length = 0; length < text.length; length++) expect(unseal(ring, 'grc', text.slice(0, length))).toBeUndefined()
})

test('A seal does not open without its key, or in a ring with other keys', () => {
  const text = seal(ring, 'grc', { a: 1 })
  expect(unseal(ringOf(), 'grc', text)).toBeUndefined()
  expect(unseal(ring, 'grc', text.replace(/\.[0-9a-f]{10}\./, '.ffffffffff.'))).toBeUndefined()
  expect(unseal(withoutSealKeys(), 'grc', text)).toBeUndefined()
})

test('A seal does not open with the id of another seal key or of a MAC key', () => {
  const [one, other, mac] = [newKey('seal', 1), newKey('seal', 2), newKey('mac', 1)]
  const both = ringOf([one, other, mac])
  const text = seal(both, 'grc', { a: 1 })
  expect(text).toContain(other.id)
  for (const { id } of [one, mac]) expect(unseal(both, 'grc', text.replace(other.id, id))).toBeUndefined()
})

test('A seal of an older key opens while that key is in the ring', () => {
  const [older, younger] = [newKey('seal', 1), newKey('seal', 2)]
  const text = seal(ringOf([older]), 'grc', { a: 1 })
  expect(unseal(ringOf([older, younger]), 'grc', text)).toEqual({ a: 1 })
  expect(unseal(ringOf([younger]), 'grc', text)).toBeUndefined()
})

test('An arbitrary text does not open as a seal, and never throws', () => {
  const id = ring.maker('seal').id
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^[A-Za-z0-9_-]{0,90}$/).map((body) => `grc.${id}.${body}`),
  )
  forAll(texts, (text) => {
    expect(unseal(ring, 'grc', text)).toBeUndefined()
  })
})

function openWithCharacter(text: string, index: number, character: string): unknown {
  return unseal(ring, 'grl', text.slice(0, index) + character + text.slice(index + 1))
}

function withoutSealKeys(): KeyRing {
  return ringOf([newKey('sign'), newKey('mac')])
}

const bound = { purpose: 'grx', bound: 'wallet-1' } as const

test('Any bytes open from their seal unchanged, and the seal is 33 bytes longer', () => {
  forAll(fc.uint8Array({ minLength: 1 }), fc.string({ unit: 'binary' }), (plain, text) => {
    const sealed = sealBytes(ring, { purpose: 'grx', bound: text }, plain)
    expect(sealed.length).toBe(plain.length + 33)
    expect(unsealBytes(ring, { purpose: 'grx', bound: text }, sealed)).toEqual(Buffer.from(plain))
  })
})

test('Sealed bytes do not open for another purpose, bound to another text, without their key, or if one bit is changed', () => {
  const sealed = sealBytes(ring, bound, Buffer.from('plain'))
  for (const purpose of PURPOSES.filter((each) => each !== 'grx'))
    expect(unsealBytes(ring, { ...bound, purpose }, sealed)).toBeUndefined()
  for (const text of ['wallet-2', '', 'wallet-1 ']) expect(unsealBytes(ring, { ...bound, bound: text }, sealed)).toBeUndefined()
  expect(unsealBytes(ringOf(), bound, sealed)).toBeUndefined()
  for (let length = 0; length < sealed.length; length++)
    expect(unsealBytes(ring, bound, sealed.subarray(0, length))).toBeUndefined()
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(unsealBytes(ring, bound, changed), `bit ${bit}`).toBeUndefined()
  }
})

test('Sealed bytes do not open as a sealed text, and a sealed text does not open as bytes', () => {
  for (const text of ['', 'wallet-1']) {
    const sealed = Buffer.from(sealBytes(ring, { purpose: 'grx', bound: text }, Buffer.from('"plain"')))
    expect(unseal(ring, 'grx', `grx.${sealed.toString('hex', 0, 5)}.${sealed.toString('base64url', 5)}`)).toBeUndefined()
  }
  const [, keyId = '', body = ''] = seal(ring, 'grx', 'plain').split('.')
  const bytes = Buffer.concat([Buffer.from(keyId, 'hex'), Buffer.from(body, 'base64url')])
  expect(unsealBytes(ring, { purpose: 'grx', bound: '' }, bytes)).toBeUndefined()
})
