import { expect, test } from 'vitest'
import { openAccessToken, signAccessToken } from '../../../src/protocol/keys/access-token.ts'
import { KnownTokens } from '../../../src/protocol/keys/known-tokens.ts'
import { ISSUER, NOW, newKey, ringOf, someClaims } from './rings.ts'

const isKnown = (ring: ReturnType<typeof ringOf>, token: string): boolean => ring.known.has(ring.known.nameOf(token))

test('A token is known from its signature on, and opens with the same claims each time', () => {
  const ring = ringOf()
  const signed = someClaims()
  const token = signAccessToken(ring, signed)
  expect(isKnown(ring, token)).toBe(true)
  for (const _ of [1, 2]) expect(openAccessToken(ring, ISSUER, token)).toEqual(signed)
})

test('A token of another node is verified, and is known from then on', () => {
  const keys = [newKey('sign')]
  const [ring, otherNode] = [ringOf(keys), ringOf(keys)]
  const signed = someClaims()
  const token = signAccessToken(otherNode, signed)
  expect(isKnown(ring, token)).toBe(false)
  expect(openAccessToken(ring, ISSUER, token)).toEqual(signed)
  expect(isKnown(ring, token)).toBe(true)
})

test('A token that differs from a known token in its signature or its spelling is verified, and refused', () => {
  const ring = ringOf()
  const token = signAccessToken(ring, someClaims())
  const [head, body] = token.split('.')
  const foreign = signAccessToken(ringOf(), someClaims()).split('.')[2]
  for (const each of [`${head}.${body}.${foreign}`, `${token}.`, `${token}=`, token.slice(0, -1)])
    expect(openAccessToken(ring, ISSUER, each)).toBeUndefined()
})

test('A known access token is refused for another issuer', () => {
  const ring = ringOf()
  const token = signAccessToken(ring, someClaims())
  expect(openAccessToken(ring, 'https://other.example.com', token)).toBeUndefined()
  expect(openAccessToken(ring, ISSUER, token)).toBeDefined()
})

test('A known access token is refused once its key is retired', () => {
  const [old, young] = [newKey('sign'), newKey('sign')]
  const ring = ringOf([old])
  const token = signAccessToken(ring, someClaims())
  ring.replace([old, young])
  expect(openAccessToken(ring, ISSUER, token), 'its key still opens').toBeDefined()
  const second = signAccessToken(ring, someClaims())
  for (const each of [token, second]) expect(isKnown(ring, each), 'no key is gone').toBe(true)
  ring.replace([young])
  expect(openAccessToken(ring, ISSUER, token), 'its key is retired').toBeUndefined()
  expect(openAccessToken(ring, ISSUER, second), 'its key still opens').toBeDefined()
  ring.replace([])
  expect(openAccessToken(ring, ISSUER, second), 'its key is retired').toBeUndefined()
})

test('A known access token opens after its expiry too, for its revocation', () => {
  const clock = { at: NOW }
  const ring = ringOf(undefined, () => clock.at)
  const token = signAccessToken(ring, someClaims())
  clock.at = NOW + 601
  expect(openAccessToken(ring, ISSUER, token)?.exp).toBe(NOW + 600)
})

test('A token is displaced only by a token of the same slot', () => {
  const known = new KnownTokens()
  const name = (slot: number, rest: number): string =>
    Buffer.concat([Buffer.from([slot >> 8, slot & 255]), Buffer.alloc(30, rest)]).toString('base64')
  const all = [name(0, 1), name(65_535, 1), name(65_535, 2)] as const
  const found = (): boolean[] => all.map((each) => known.has(each))
  known.add(all[0])
  known.add(all[1])
  expect(found()).toEqual([true, true, false])
  known.add(all[2])
  expect(found()).toEqual([true, false, true])
  known.forget()
  expect(found()).toEqual([false, false, false])
})
