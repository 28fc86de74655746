/** Message authentication codes (HMAC-SHA-256) under the ring's `mac` keys, one subkey for each purpose. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretKey } from './key-ring.ts'

export type MacPurpose = 'refresh token' | 'session id' | 'cross-device code' | 'dpop nonce' | 'idempotency key' | 'picture'

/** 32 bytes. */
export function macOf(key: SecretKey, purpose: MacPurpose, message: Uint8Array): Buffer {
  return createHmac('sha256', key.subkey(purpose)).update(message).digest()
}

export function macMatches(key: SecretKey, purpose: MacPurpose, message: Uint8Array, mac: Uint8Array): boolean {
  const expected = macOf(key, purpose, message)
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}
