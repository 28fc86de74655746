/**
 * Proof that an ordinary wallet signed a text (`personal_sign`, ERC-191 version 0x45, which ERC-4361 requires).
 *
 * This check calls no chain. If a chain were called first, a false answer of one node would sign in any caller as any address.
 */

import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, parseAddress } from './address.ts'

export type SignatureVerdict = { kind: 'valid' } | { kind: 'malformed' } | { kind: 'not_proven' }

/**
 * Checks that the key of `address` signed exactly `message`.
 *
 * - `malformed`: not `0x` and 65 bytes in hexadecimal. The 64-byte form (ERC-2098) is malformed too, so that a proof
 *   has one spelling.
 * - `not_proven`: 65 bytes that prove nothing: another signer, another text, or numbers that no wallet of this address
 *   produces.
 *
 * Never throws.
 */
export function verifyPlainSignature(message: string, signature: string, address: Address): SignatureVerdict {
  if (typeof signature !== 'string' || !/^0x[0-9A-Fa-f]{130}$/.test(signature)) return { kind: 'malformed' }
  // The caller refuses keyless addresses before. The check is repeated here, before any cryptography, because without
  // it any caller could sign in as 0x0.
  const claim = parseAddress(address)
  if (claim.kind !== 'address') return { kind: 'not_proven' }

  const signer = recoverSigner(message, signature)
  return signer !== null && signer === claim.address.toLowerCase() ? { kind: 'valid' } : { kind: 'not_proven' }
}

/** The signer's address in lower case. If there is no signer, null and never an address that means failure. */
function recoverSigner(message: string, signature: string): string | null {
  const r = BigInt(`0x${signature.slice(2, 66)}`)
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const recovery = recoveryBits.get(Number.parseInt(signature.slice(130), 16))
  if (recovery === undefined) return null
  const order = secp256k1.Point.Fn.ORDER
  // The library checks this too. The check is repeated here, because in other systems a zero here turned an invalid
  // signature into a login.
  if (r === 0n || r >= order || s === 0n) return null
  // Low s only (EIP-2): otherwise anyone can compute a second signature, (r, n - s), from the first.
  if (s > order / 2n) return null
  try {
    const publicKey = new secp256k1.Signature(r, s, recovery).recoverPublicKey(hashPersonalMessage(message))
    // An address is the last 20 bytes of the hash of the key's two coordinates, without the leading 0x04.
    return `0x${bytesToHex(keccak_256(publicKey.toBytes(false).subarray(1)).subarray(-20))}`
  } catch {
    // r is not the x coordinate of a point on the curve, or the key is the point at infinity: the signature has no
    // signer.
    return null
  }
}

/** v as wallets write it: 27 and 28, or 0 and 1 from some hardware wallets. No wallet produces 2 and 3 (r above n). */
const recoveryBits: ReadonlyMap<number, 0 | 1> = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
])

/** ERC-191: the prefix prevents a signed text from being a transaction; the length counts bytes. */
function hashPersonalMessage(message: string): Uint8Array {
  const text = utf8ToBytes(message)
  return keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`), text))
}
