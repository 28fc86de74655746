/**
 * ES256 signatures (RFC 7518 §3.4): r and s of 32 bytes each. OpenSSL uses the DER encoding (RFC 3279 §2.2.3), which
 * is a sequence of two integers.
 *
 * Node can convert too (`dsaEncoding: 'ieee-p1363'`), but with Node 24 a signature then takes 43 µs instead of 21, and a verification 83
 * instead of 60. To repeat the measurement: `npm run bench -- peer --only refresh,new --baseline DIR`.
 */
import { type KeyObject, sign, verify } from 'node:crypto'

/** The length of r and of s. */
const LENGTH = 32
const [SEQUENCE, INTEGER] = [0x30, 0x02]

export function signEs256(message: Buffer, privateKey: KeyObject): Buffer {
  const der = sign('sha256', message, privateKey)
  const signature = Buffer.alloc(2 * LENGTH)
  // 0x30 LENGTH 0x02 LENGTH r 0x02 LENGTH s; each length is one byte.
  const endOfR = 4 + (der[3] ?? 0)
  putInteger(der.subarray(4, endOfR), signature.subarray(0, LENGTH))
  putInteger(der.subarray(endOfR + 2), signature.subarray(LENGTH))
  return signature
}

/** OpenSSL refuses a signature whose r or s is not between 1 and n - 1. */
export function verifyEs256(message: Buffer, publicKey: KeyObject, signature: Buffer): boolean {
  return signature.length === 2 * LENGTH && verify('sha256', message, publicKey, derOf(signature))
}

/** Copies a DER integer, which may begin with a zero byte and has no other leading zeros, to the end of `target`. */
function putInteger(integer: Buffer, target: Buffer): void {
  const start = Math.max(0, integer.length - LENGTH)
  integer.copy(target, LENGTH - (integer.length - start), start)
}

function derOf(signature: Buffer): Buffer {
  const der = Buffer.alloc(2 * LENGTH + 8)
  let end = 2
  for (const at of [0, LENGTH]) {
    // DER integers have no leading zeros, but one zero byte if the first bit would otherwise be 1.
    let first = at
    while (first < at + LENGTH - 1 && signature[first] === 0) first++
    const isPadded = (signature[first] ?? 0) >= 0x80
    const length = at + LENGTH - first + (isPadded ? 1 : 0)
    der[end++] = INTEGER
    der[end++] = length
    if (isPadded) der[end++] = 0
    end += signature.copy(der, end, first, at + LENGTH)
  }
  der[0] = SEQUENCE
  der[1] = end - 2
  return der.subarray(0, end)
}
