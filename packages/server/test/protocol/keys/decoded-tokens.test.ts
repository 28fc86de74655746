import { expect, test } from 'vitest'
import { openAccessToken, signAccessToken } from '../../../src/protocol/keys/access-token.ts'
import { DecodedTokens } from '../../../src/protocol/keys/decoded-tokens.ts'
import { ISSUER, NOW, newKey, ringOf, someClaims } from './rings.ts'

const isRemembered = (ring: ReturnType<typeof ringOf>, token: string): boolean =>
  ring.decoded.find(ring.known.nameOf(token)) !== undefined

test('A token that was presented is remembered, and opens with the same claims again', () => {
  const keys = [newKey('sign')]
  const [ring, otherNode] = [ringOf(keys), ringOf(keys)]
  const signed = someClaims()
  const token = signAccessToken(otherNode, signed)
  expect(isRemembered(ring, token)).toBe(false)
  for (const _ of [1, 2]) expect(openAccessToken(ring, ISSUER, token)).toEqual(signed)
  expect(isRemembered(ring, token)).toBe(true)
})

test('Forged access tokens are not remembered and do not displace a genuine one', () => {
  const ring = ringOf()
  const token = signAccessToken(ring, someClaims())
  openAccessToken(ring, ISSUER, token)
  const [head, body] = token.split('.')
  const forgeries = Array.from({ length: 300 }, () => signAccessToken(ringOf(), someClaims()))
  const underOurName = forgeries.map((each) => `${head}.${body}.${each.split('.')[2]}`)
  for (const each of [...forgeries, ...underOurName, `${token}.`, `${token}=`, token.slice(0, -1)])
    expect(openAccessToken(ring, ISSUER, each)).toBeUndefined()
  expect(ring.decoded.size).toBe(1)
  expect(isRemembered(ring, token)).toBe(true)
})

test('A remembered access token is still refused for another issuer', () => {
  const ring = ringOf()
  const token = signAccessToken(ring, someClaims())
  expect(openAccessToken(ring, ISSUER, token)).toBeDefined()
  expect(openAccessToken(ring, 'https://other.example.com', token)).toBeUndefined()
})

test('A remembered access token is refused once its key is retired', () => {
  const [old, young] = [newKey('sign'), newKey('sign')]
  const ring = ringOf([old])
  const token = signAccessToken(ring, someClaims())
  expect(openAccessToken(ring, ISSUER, token)).toBeDefined()
  ring.replace([old, young])
  expect(openAccessToken(ring, ISSUER, token), 'its key still opens').toBeDefined()
  ring.replace([young])
  expect(openAccessToken(ring, ISSUER, token), 'its key is retired').toBeUndefined()
})

test('An access token is remembered until it expires and no longer', () => {
  const clock = { at: NOW }
  const ring = ringOf(undefined, () => clock.at)
  const token = signAccessToken(ring, someClaims())
  openAccessToken(ring, ISSUER, token)
  clock.at = NOW + 599
  expect(isRemembered(ring, token)).toBe(true)
  clock.at = NOW + 600
  expect(isRemembered(ring, token)).toBe(false)
  expect(openAccessToken(ring, ISSUER, token), 'opened all the same, for its revocation').toBeDefined()
  expect(ring.decoded.size).toBe(0)
})

test('The number of remembered access tokens is bounded, and those used last are kept', () => {
  const decoded = new DecodedTokens(() => NOW, 100)
  for (let i = 0; i < 1000; i++) {
    decoded.remember(`token ${i}`, someClaims())
    expect(decoded.find('token 0'), 'used all the time').toBeDefined()
    expect(decoded.size).toBeLessThanOrEqual(100)
  }
  expect(decoded.find('token 999')).toBeDefined()
  expect(decoded.find('token 500')).toBeUndefined()
})
