/**
 * Proof that an ordinary wallet signed a text (`personal_sign`, ERC-191 version 0x45).
 *
 * Pure: no chain is asked. Asking a chain first would let one lying node sign in as anybody.
 */

import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, parseAddress } from './address.ts'

export type SignatureVerdict = { kind: 'valid' } | { kind: 'malformed' } | { kind: 'not_proven' }

/**
 * Checks that the key behind `address` signed exactly `message`.
 *
 * - `malformed`: not `0x` and 65 bytes in hexadecimal. The 64-byte form (ERC-2098) counts as malformed: one proof, one spelling.
 * - `not_proven`: 65 bytes that prove nothing: another signer, another text, or numbers no wallet of this address produces.
 *
 * Never throws.
 */
export function verifyPlainSignature(message: string, signature: string, address: Address): SignatureVerdict {
  if (typeof signature !== 'string' || !/^0x[0-9A-Fa-f]{130}$/.test(signature)) return { kind: 'malformed' }
  // The caller refused keyless addresses at its door already. Here again, before any cryptography, because the price of forgetting it is
  // that anybody signs in as 0x0.
  const claim = parseAddress(address)
  if (claim.kind !== 'address') return { kind: 'not_proven' }

  const signer = recoverSigner(message, signature)
  return signer !== null && signer === claim.address.toLowerCase() ? { kind: 'valid' } : { kind: 'not_proven' }
}

/** The signer's address in lower case; null, never an address that stands for failure, when there is none. */
function recoverSigner(message: string, signature: string): string | null {
  const r = BigInt(`0x${signature.slice(2, 66)}`)
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const recovery = recoveryBits.get(Number.parseInt(signature.slice(130), 16))
  if (recovery === undefined) return null
  const order = secp256k1.Point.Fn.ORDER
  // Also checked inside the library; not left to it, because a zero here is how garbage became a login elsewhere.
  if (r === 0n || r >= order || s === 0n) return null
  // Low s only (EIP-2): otherwise every signature has a second one, (r, n - s), that anybody can compute.
  if (s > order / 2n) return null
  try {
    const publicKey = new secp256k1.Signature(r, s, recovery).recoverPublicKey(hashPersonalMessage(message))
    // An address is the last 20 bytes of the hash of the key's two coordinates, without the 0x04 in front.
    return `0x${bytesToHex(keccak_256(publicKey.toBytes(false).subarray(1)).subarray(-20))}`
  } catch {
    // r is the x of no point on the curve, or the key comes out at infinity: nobody signed this.
    return null
  }
}

/** v as wallets write it: 27 and 28, or 0 and 1 from some hardware wallets. 2 and 3 (r above n) come from no wallet. */
const recoveryBits: ReadonlyMap<number, 0 | 1> = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
])

/** ERC-191: the prefix keeps a signed text from ever being a transaction; the length counts bytes. */
function hashPersonalMessage(message: string): Uint8Array {
  const text = utf8ToBytes(message)
  return keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`), text))
}
