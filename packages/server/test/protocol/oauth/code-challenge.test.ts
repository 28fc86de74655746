import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { challengeOf, isCodeChallenge, isCodeVerifier } from '../../../src/protocol/oauth/code-challenge.ts'
import { forAll } from '../../support/property.ts'

test('The code verifier of RFC 7636 appendix B gives the code challenge of that appendix', () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  expect(isCodeVerifier(verifier)).toBe(true)
  expect(challengeOf(verifier)).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
})

test('A code verifier has 43 to 128 unreserved characters (RFC 7636 §4.1)', () => {
  const unreserved = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'
  for (const length of [43, 44, 127, 128]) expect(isCodeVerifier('~'.repeat(length)), `${length}`).toBe(true)
  for (const length of [0, 1, 42, 129, 1000]) expect(isCodeVerifier('~'.repeat(length)), `${length}`).toBe(false)
  for (let code = 0; code < 0x180; code++) {
    const character = String.fromCharCode(code)
    expect(isCodeVerifier('a'.repeat(50) + character), `U+${code.toString(16)}`).toBe(unreserved.includes(character))
  }
})

test.each([
  'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c',
  'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM=',
  'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM',
  '',
])('%j is not an S256 code challenge (RFC 7636 §4.2)', (text) => {
  expect(isCodeChallenge(text)).toBe(false)
})

test('Every code verifier has an S256 code challenge that no other verifier has', () => {
  const verifiers = fc.stringMatching(/^[A-Za-z0-9\-._~]{43,128}$/)
  forAll(verifiers, verifiers, (verifier, other) => {
    expect(isCodeVerifier(verifier)).toBe(true)
    expect(isCodeChallenge(challengeOf(verifier))).toBe(true)
    expect(challengeOf(verifier)).toBe(createHash('sha256').update(verifier).digest('base64url'))
    expect(challengeOf(verifier) === challengeOf(other)).toBe(verifier === other)
  })
})
