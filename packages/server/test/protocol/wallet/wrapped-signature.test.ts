/** The wrapper of ERC-6492: which texts are wrapped signatures. No text may have two readings. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { unwrapSignature } from '../../../src/protocol/wallet/wrapped-signature.ts'
import { forAll } from '../../support/property.ts'
import { abiEncode, word, wrapSignature } from '../../support/wallet-contracts.ts'

const suffix = '6492'.repeat(16)
const factory = `0x${'fa'.repeat(20)}`
const bytes = fc.uint8Array({ maxLength: 300 }).map((content) => `0x${Buffer.from(content).toString('hex')}`)
const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((content) => `0x${Buffer.from(content).toString('hex')}`)

test('Unwrapping a wrapped signature returns its factory, call and signature unchanged (ERC-6492)', () => {
  forAll(addresses, bytes, bytes, (factory, factoryCall, signature) => {
    const wrapped = wrapSignature(factory, factoryCall, signature)
    expect(unwrapSignature(wrapped)).toEqual({ kind: 'wrapped', factory, factoryCall, signature })
    expect(unwrapSignature(`0x${wrapped.slice(2).toUpperCase()}`)).toEqual({
      kind: 'wrapped',
      factory,
      factoryCall,
      signature,
    })
  })
})

test('A signature without the suffix of ERC-6492 is not unwrapped, whatever its bytes are', () => {
  forAll(bytes, (signature) => {
    expect(unwrapSignature(signature)).toEqual({ kind: 'bare', signature })
  })
  const almost = wrapSignature(factory, '0x01', '0x02').slice(0, -2)
  expect(unwrapSignature(almost)).toEqual({ kind: 'bare', signature: almost })
})

test('A wrapper inside a wrapper is unwrapped once', () => {
  const inner = wrapSignature(factory, '0x01', '0x02')
  expect(unwrapSignature(wrapSignature(factory, '0x', inner))).toMatchObject({ signature: inner })
})

const call = 'c0ffee'.padEnd(64, '0')
const canonical = [factory.slice(2).padStart(64, '0'), word(96), word(160), word(3), call, word(0)]
const withWord = (index: number, text: string): string => canonical.with(index, text).join('')

test.each([
  ['nothing before the suffix', ''],
  ['less than the first word', 'fa'.repeat(20)],
  ['cut in the middle', canonical.join('').slice(0, -64)],
  ['half a word more', `${canonical.join('')}${'00'.repeat(16)}`],
  ['a word more', canonical.join('') + word(0)],
  ['a factory with more than 20 bytes', withWord(0, '01'.padEnd(24, '0') + factory.slice(2))],
  ['a first offset into the head', withWord(1, word(64))],
  ['a first offset beyond the end', withWord(1, word(4096))],
  ['a first offset of 2^256 - 96', withWord(1, 'f'.repeat(62) + 'a0')],
  ['both fields in one place', withWord(2, word(96))],
  ['a second offset into the first field', withWord(2, word(128))],
  ['a second offset beyond the end', withWord(2, word(192))],
  ['a length beyond the end', withWord(3, word(65))],
  ['a length of 2^256 - 1', withWord(3, 'f'.repeat(64))],
  ['a second length beyond the end', withWord(5, word(1))],
  ['something between the end of a field and its last word', withWord(4, 'c0ffee'.padEnd(64, '1'))],
])('A wrapper that is not in canonical ABI encoding is malformed: %s', (_, encoded) => {
  expect(unwrapSignature(`0x${encoded}${suffix}`)).toEqual({ kind: 'malformed' })
})

test('The canonical form of the malformed wrappers is a valid wrapper', () => {
  expect(canonical.join('')).toBe(abiEncode([factory.slice(2), { bytes: 'c0ffee' }, { bytes: '' }]))
  expect(unwrapSignature(`0x${canonical.join('')}${suffix}`)).toMatchObject({ kind: 'wrapped', factoryCall: '0xc0ffee' })
})

test('A wrapper with one changed byte never unwraps to the same factory, call and signature', () => {
  const wrapped = wrapSignature(factory, '0xc0ffee', '0x0102')
  const genuine = unwrapSignature(wrapped)
  for (let at = 2; at < wrapped.length; at += 2) {
    const changed = Number.parseInt(wrapped.slice(at, at + 2), 16) ^ 1
    const forged = wrapped.slice(0, at) + changed.toString(16).padStart(2, '0') + wrapped.slice(at + 2)
    expect(unwrapSignature(forged)).not.toEqual(genuine)
  }
})
