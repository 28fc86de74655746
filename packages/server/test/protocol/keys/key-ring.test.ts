import { expect, test } from 'vitest'
import { KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { NOW, newKey, ringOf } from './rings.ts'

test('The latest key that has started is in use, and an announced key only opens', () => {
  const clock = { at: NOW }
  const [first, second, third] = [newKey('seal', NOW - 100), newKey('seal', NOW), newKey('seal', NOW + 60)]
  const ring = ringOf([first, second, third], () => clock.at)
  expect(ring.maker('seal').id).toBe(second.id)
  expect(ring.opener('seal', third.id)).toBe(third)
  clock.at = NOW + 59
  expect(ring.maker('seal').id).toBe(second.id)
  clock.at = NOW + 60
  expect(ring.maker('seal').id).toBe(third.id)
  expect(ring.opener('seal', first.id)).toBe(first)
})

test('If the clock is set back, the previous key is in use again, and before the start of every key the first one is', () => {
  const clock = { at: NOW + 60 }
  const [first, second] = [newKey('mac', NOW), newKey('mac', NOW + 60)]
  const ring = ringOf([first, second], () => clock.at)
  expect(ring.maker('mac').id).toBe(second.id)
  clock.at = NOW
  expect(ring.maker('mac').id).toBe(first.id)
  clock.at = NOW - 86_400
  expect(ring.maker('mac').id).toBe(first.id)
  expect(ring.opener('mac', second.id), 'every key still opens').toBe(second)
})

test('A key is found by its own kind and id only, and an unknown id opens nothing', () => {
  const [sign, seal, mac] = [newKey('sign'), newKey('seal'), newKey('mac')]
  const ring = ringOf([sign, seal, mac])
  expect(ring.opener('seal', mac.id)).toBeUndefined()
  expect(ring.opener('mac', sign.id)).toBeUndefined()
  expect(ring.opener('sign', seal.id)).toBeUndefined()
  for (const id of ['', 'ffffffffff', '__proto__', 'constructor', `${seal.id} `, `seal:${seal.id}`]) {
    expect(ring.opener('seal', id), `the id ${id}`).toBeUndefined()
  }
  expect([ring.maker('sign').id, ring.maker('seal').id, ring.maker('mac').id]).toEqual([sign.id, seal.id, mac.id])
})

test('While the stored keys cannot be read, an unknown key id is an error, and the keys in the ring still open', () => {
  const [sign, seal, mac] = [newKey('sign'), newKey('seal'), newKey('mac')]
  const ring = ringOf([sign, seal, mac])
  ring.doubt(new Error('the store is down'))
  expect(() => ring.opener('mac', 'ffffffffff')).toThrow('the store is down')
  expect(() => ring.verifier('ffffffffff')).toThrow('the store is down')
  expect(ring.opener('mac', mac.id)).toBe(mac)
  expect(ring.verifier(sign.id)).toBe(sign)
  ring.trust()
  expect(ring.opener('mac', 'ffffffffff')).toBeUndefined()
  expect(ring.verifier('ffffffffff')).toBeUndefined()
})

test('A signature is verified with a signing key of any kind, and with no other key', () => {
  const [sign, signRs256, mac] = [newKey('sign'), newKey('sign_rs256', NOW, 'RS256'), newKey('mac')]
  const ring = ringOf([sign, signRs256, newKey('seal'), mac])
  expect(ring.verifier(sign.id)).toBe(sign)
  expect(ring.verifier(signRs256.id)).toBe(signRs256)
  expect(ring.verifier(mac.id)).toBeUndefined()
})

test('Replacing the keys of a ring removes all earlier keys', () => {
  const [old, young] = [newKey('mac', 1), newKey('mac', 1)]
  const ring = ringOf([old])
  ring.replace([young])
  expect(ring.opener('mac', old.id)).toBeUndefined()
  expect(ring.maker('mac').id).toBe(young.id)
})

test('Every signing key is published, announced ones too, and no other key', () => {
  const [old, announced] = [newKey('sign', NOW - 1), newKey('sign', NOW + 60, 'EdDSA')]
  const ring = ringOf([old, announced, newKey('seal'), newKey('mac')])
  expect(new Set(ring.signingKeys().map(({ id }) => id))).toEqual(new Set([old.id, announced.id]))
})

test('A key ring is loaded once it has a key of each kind, and has no sealing key before it gets one', () => {
  const ring = new KeyRing(() => NOW)
  expect(ring.isLoaded()).toBe(false)
  expect(() => ring.maker('seal')).toThrow('there is no seal key')
  ring.replace([newKey('sign'), newKey('seal')])
  expect(ring.isLoaded()).toBe(false)
  ring.replace([newKey('sign'), newKey('seal'), newKey('mac')])
  expect(ring.isLoaded()).toBe(true)
})
