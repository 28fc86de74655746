import { expect, test } from 'vitest'
import { hashSecret, newSecret, secretMatches } from '../../../src/protocol/keys/secret.ts'

test('A client secret has 256 random bits, in characters that form-urlencoding does not change (RFC 6749 §2.3.1)', () => {
  const secrets = new Set(Array.from({ length: 1000 }, newSecret))
  expect(secrets.size).toBe(1000)
  for (const secret of secrets) {
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(encodeURIComponent(secret)).toBe(secret)
  }
})

test('A client secret is stored as its SHA-256 hash', () => {
  expect(hashSecret('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
})

test('A client secret matches its own hash at any place of the list, and no other hash', () => {
  const [secret, second] = [newSecret(), newSecret()]
  const others = [hashSecret(second), hashSecret(newSecret())]
  expect(secretMatches(secret, [hashSecret(secret)])).toBe(true)
  expect(secretMatches(secret, [...others, hashSecret(secret)])).toBe(true)
  expect(secretMatches(secret, [hashSecret(secret), ...others])).toBe(true)
  expect(secretMatches(secret, others)).toBe(false)
  expect(secretMatches(secret.toLowerCase(), [hashSecret(secret)])).toBe(false)
  expect(secretMatches(`${secret} `, [hashSecret(secret)])).toBe(false)
  expect(secretMatches('', others)).toBe(false)
})

test('Without a stored hash no client secret matches', () => {
  for (const secret of ['', newSecret(), hashSecret('')]) expect(secretMatches(secret, [])).toBe(false)
})

test('The hash of a client secret is not accepted as the secret', () => {
  const hash = hashSecret(newSecret())
  expect(secretMatches(hash, [hash])).toBe(false)
})
