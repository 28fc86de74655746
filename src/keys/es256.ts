/**
 * ES256 signatures (RFC 7518 §3.4): r and s of 32 bytes each. OpenSSL uses the DER encoding; @noble/curves converts.
 *
 * Node can convert too (`dsaEncoding: 'ieee-p1363'`), but with Node 24 a refresh then takes 218 µs of processor time
 * instead of 182 (20 %): lowest tenth of 40 alternating runs on 2026-11-22, two busy cores of an AMD EPYC. To repeat
 * the measurement: `npm run bench -- peer --only refresh,new --baseline DIR`.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'

export function signEs256(message: Buffer, privateKey: KeyObject): Buffer {
  const signature = p256.Signature.fromBytes(sign('sha256', message, privateKey), 'der')
  return Buffer.from(signature.toBytes('compact'))
}

export function verifyEs256(message: Buffer, publicKey: KeyObject, signature: Buffer): boolean {
  const der = derOf(signature)
  return der !== null && verify('sha256', message, publicKey, der)
}

/** Null for a signature that is not 64 bytes, or whose r or s is not between 1 and n - 1. */
function derOf(signature: Buffer): Uint8Array | null {
  try {
    return p256.Signature.fromBytes(signature, 'compact').toBytes('der')
  } catch {
    return null
  }
}
