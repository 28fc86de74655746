/** Message authentication codes (HMAC-SHA-256) under the ring's `mac` keys, one subkey for each purpose. */
import { hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { SecretKey } from './key-ring.ts'

export type MacPurpose = 'refresh token' | 'session id' | 'cross-device code' | 'dpop nonce' | 'idempotency key' | 'picture'

/** 32 bytes. */
export function macOf(key: SecretKey, purpose: MacPurpose, message: Uint8Array): Buffer {
  return hmac(key.subkey(purpose), message)
}

export function macMatches(key: SecretKey, purpose: MacPurpose, message: Uint8Array, mac: Uint8Array): boolean {
  const expected = macOf(key, purpose, message)
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}

/** Bytes of a block of SHA-256. */
const BLOCK = 64

/** The two blocks that HMAC derives from a key. */
type Blocks = { inner: Buffer; outer: Buffer }
const blocks = new WeakMap<KeyObject, Blocks>()

/**
 * HMAC (RFC 2104 §2) of two hashes. `createHmac` prepares the algorithm anew for each message, which takes 2.6 µs; the two hashes take 0.9 µs. A
 * hash is requested as text of one character for each byte, because a hash as a Buffer takes another 1.2 µs (docs/evidence/performance.md).
 */
function hmac(key: KeyObject, message: Uint8Array): Buffer {
  const { inner, outer } = blocks.get(key) ?? keepBlocks(key)
  const innerHash = hash('sha256', Buffer.concat([inner, message]), 'binary')
  return Buffer.from(hash('sha256', Buffer.concat([outer, Buffer.from(innerHash, 'binary')]), 'binary'), 'binary')
}

function keepBlocks(key: KeyObject): Blocks {
  const bytes = Buffer.alloc(BLOCK)
  // A longer key would have to be hashed first. The subkeys have 32 bytes.
  key.export().copy(bytes)
  const made = { inner: Buffer.from(bytes.map((byte) => byte ^ 0x36)), outer: Buffer.from(bytes.map((byte) => byte ^ 0x5c)) }
  blocks.set(key, made)
  return made
}
