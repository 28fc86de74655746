import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { verifyPlainSignature } from '../../../src/protocol/wallet/signature.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { clientNames, hexDigits } from './arbitraries.ts'
import references from './reference-signatures.json' with { type: 'json' }

// The first of Hardhat's well-known test accounts.
const privateKey = hexToBytes('ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const address: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const otherAddress: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const zeroAddress: Address = `0x${'0'.repeat(40)}`
const order = secp256k1.Point.Fn.ORDER
const message = 'login.example.com wants you to sign in with your Ethereum account:\n…'

type Parts = { r: bigint; s: bigint; recovery: number }

function sign(text: string, key: Uint8Array = privateKey): Parts {
  const bytes = utf8ToBytes(text)
  const prefix = utf8ToBytes(`\x19Ethereum Signed Message:\n${bytes.length}`)
  const hash = keccak_256(new Uint8Array([...prefix, ...bytes]))
  const [recovery = 0, ...rs] = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
  const digits = bytesToHex(new Uint8Array(rs))
  return { r: BigInt(`0x${digits.slice(0, 64)}`), s: BigInt(`0x${digits.slice(64)}`), recovery }
}

function write({ r, s }: Parts, v: number): string {
  return `0x${r.toString(16).padStart(64, '0')}${s.toString(16).padStart(64, '0')}${v.toString(16).padStart(2, '0')}`
}

const parts = sign(message)
const signature = write(parts, 27 + parts.recovery)

test('A personal_sign signature of a wallet is valid (ERC-191)', () => {
  expect(verifyPlainSignature(message, signature, address)).toEqual({ kind: 'valid' })
})

test.each(references)('A signature of the reference library gets the same verdict as there: $title', (reference) => {
  expect(verifyPlainSignature(reference.message, reference.signature, reference.address as Address)).toEqual({
    kind: reference.verdict,
  })
})

test('v may be 27 and 28 or 0 and 1, and the hexadecimal digits may be in either case', () => {
  const zeroOrOne = write(parts, parts.recovery)
  expect(verifyPlainSignature(message, zeroOrOne, address)).toEqual({ kind: 'valid' })
  expect(verifyPlainSignature(message, `0x${signature.slice(2).toUpperCase()}`, address)).toEqual({ kind: 'valid' })
})

test('A signature with any other v is not valid', () => {
  for (let v = 0; v <= 255; v++) {
    const proven = v === parts.recovery || v === 27 + parts.recovery
    expect(verifyPlainSignature(message, write(parts, v), address)).toEqual({ kind: proven ? 'valid' : 'not_proven' })
  }
})

test('The signature of any wallet is valid for its own text and address only, in any script', () => {
  fc.assert(
    fc.property(hexDigits(64), clientNames, clientNames, (digits, text, otherText) => {
      const key = hexToBytes(digits.toLowerCase())
      fc.pre(secp256k1.utils.isValidSecretKey(key))
      const publicKey = secp256k1.getPublicKey(key, false)
      const signer: Address = `0x${bytesToHex(keccak_256(publicKey.subarray(1)).subarray(-20))}`
      const signed = sign(text, key)
      const written = write(signed, 27 + signed.recovery)
      expect(verifyPlainSignature(text, written, signer)).toEqual({ kind: 'valid' })
      expect(verifyPlainSignature(text, written, address)).toEqual({ kind: 'not_proven' })
      if (bytesToHex(utf8ToBytes(otherText)) !== bytesToHex(utf8ToBytes(text))) {
        expect(verifyPlainSignature(otherText, written, signer)).toEqual({ kind: 'not_proven' })
      }
    }),
    // Each run signs once and verifies three times.
    { numRuns: Math.ceil(runs / 5) },
  )
})

describe('Signatures of 65 bytes that are not valid', () => {
  const highS = { ...parts, s: order - parts.s, recovery: 1 - parts.recovery }
  const cases: [string, string][] = [
    ['the high-s form, which anyone can compute: n - s and v flipped (EIP-2)', write(highS, 27 + highS.recovery)],
    ['n - s with v unchanged', write(highS, 27 + parts.recovery)],
    ['all zero', `0x${'00'.repeat(65)}`],
    ['all ones', `0x${'ff'.repeat(65)}`],
    ['r = 0', write({ ...parts, r: 0n }, 27)],
    ['s = 0', write({ ...parts, s: 0n }, 27)],
    ['r = s = 0, v = 27', write({ ...parts, r: 0n, s: 0n }, 27)],
    ['r = n', write({ ...parts, r: order }, 27)],
    ['s = n', write({ ...parts, s: order }, 27)],
    ['r above n', write({ ...parts, r: 2n ** 256n - 1n }, 27)],
    ['s above n', write({ ...parts, s: 2n ** 256n - 1n }, 27)],
    ['s one above half of n', write({ ...parts, s: order / 2n + 1n }, 27)],
    // 5 is not the x of a point on secp256k1, so recovery fails.
    ['an r that is not on the curve', write({ ...parts, r: 5n }, 27)],
    ['the other parity', write(parts, 28 - parts.recovery)],
    ['another key', write(sign(message, new Uint8Array(32).fill(7)), 27)],
    ['the same key for another text', write(sign(`${message} `), 27 + sign(`${message} `).recovery)],
  ]

  test.each(cases)('A signature of 65 bytes is not valid if it is, or has, %s', (_, forged) => {
    expect(verifyPlainSignature(message, forged, address)).toEqual({ kind: 'not_proven' })
  })

  test.each(cases)('A signature that is not valid does not prove the zero address either: %s', (_, forged) => {
    expect(verifyPlainSignature(message, forged, zeroAddress)).toEqual({ kind: 'not_proven' })
  })
})

test('A genuine signature is not valid for another address, an address without a key, or a malformed address', () => {
  for (const claimed of [
    otherAddress,
    zeroAddress,
    `0x${'ff'.padStart(40, '0')}`,
    '0x',
    '',
    'f39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  ]) {
    expect(verifyPlainSignature(message, signature, claimed as Address)).toEqual({ kind: 'not_proven' })
  }
})

test.each([
  ['empty', ''],
  ['no digits', '0x'],
  ['no 0x', signature.slice(2)],
  ['0X', `0X${signature.slice(2)}`],
  ['64 bytes (ERC-2098)', signature.slice(0, 130)],
  ['half a byte too few', signature.slice(0, -1)],
  ['66 bytes', `${signature}00`],
  ['a letter that is not a digit', `${signature.slice(0, -1)}g`],
  ['a space before', ` ${signature}`],
  ['a line break after', `${signature}\n`],
  ['a full-width digit', `${signature.slice(0, -1)}１`],
  ['8 kB of digits', `0x${'ab'.repeat(8_192)}`],
])('A signature that is not 0x and 65 bytes in hexadecimal is malformed: %s', (_, text) => {
  expect(verifyPlainSignature(message, text, address)).toEqual({ kind: 'malformed' })
})

test('Checking a signature never throws, and anything but 65 bytes in hexadecimal is malformed', () => {
  const text = fc.oneof(clientNames, fc.anything())
  const anySignature = fc.oneof(
    text,
    hexDigits(130).map((digits) => `0x${digits}`),
    hexDigits(128).map((digits) => `0x${digits}1b`),
  )
  const anyAddress = fc.oneof(text, fc.constantFrom(address, zeroAddress))
  forAll(clientNames, anySignature, anyAddress, (signed, given, claimed) => {
    const wellFormed = typeof given === 'string' && /^0x[0-9a-f]{130}$/i.test(given)
    const verdict = verifyPlainSignature(signed, given as string, claimed as Address)
    expect(verdict).toEqual({ kind: wellFormed ? 'not_proven' : 'malformed' })
  })
})
