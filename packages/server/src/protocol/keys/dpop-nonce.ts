/**
 * Nonces for DPoP proofs (RFC 9449 §8): `<key id>.<base64url(window ‖ MAC)>`, the same for all callers for two minutes.
 *
 * Nonces are computed and not stored, so every node accepts the nonces of every other node. A nonce cannot be
 * predicted, so a proof that contains one was not made before the nonce's time window.
 */
import type { KeyRing } from './key-ring.ts'
import { macMatches, macOf } from './mac.ts'

/** Seconds. A nonce is accepted in its own window and in the next. */
const WINDOW = 120
const NONCE = /^([0-9a-f]{10})\.([A-Za-z0-9_-]{48})$/

/** @param at epoch seconds */
export function makeDpopNonce(ring: KeyRing, at: number): string {
  const key = ring.maker('mac')
  const body = Buffer.alloc(4)
  body.writeUInt32BE(windowOf(at))
  return `${key.id}.${Buffer.concat([body, macOf(key, 'dpop nonce', body)]).toString('base64url')}`
}

/** When a nonce of this service expires (epoch seconds); null for an expired nonce or any other text. */
export function dpopNonceEndsAt(ring: KeyRing, nonce: string, at: number): number | null {
  const [, keyId = '', encoded = ''] = NONCE.exec(nonce) ?? []
  const key = ring.opener('mac', keyId)
  if (!key) return null
  const bytes = Buffer.from(encoded, 'base64url')
  const body = bytes.subarray(0, 4)
  if (!macMatches(key, 'dpop nonce', body, bytes.subarray(4))) return null
  const window = body.readUInt32BE()
  // The next window is accepted too: the clock of the node that made the nonce may be slightly ahead.
  return Math.abs(windowOf(at) - window) <= 1 ? (window + 2) * WINDOW : null
}

function windowOf(at: number): number {
  return Math.floor(at / WINDOW)
}
