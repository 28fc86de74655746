/**
 * Refresh tokens: `grr.<key id>.<base64url(grant id ‖ generation ‖ MAC)>`.
 *
 * A token is derived from its grant, its generation and a key, never stored and never random: the same three make
 * the same token again on any node, and a forgery fails its MAC before anything is read (RFC 6749 §10.4, RFC 7009 §5, RFC 9700
 * §4.14.2).
 */

import type { KeyRing } from '../keys/key-ring.ts'
import { macMatches, macOf } from '../keys/mac.ts'

export type RefreshToken = { grantId: string; generation: number }

const PREFIX = 'grr.'
/** Characters of a key's id, and of a whole token. */
const KEY_ID = 10
const TOKEN = PREFIX.length + KEY_ID + 1 + 70
const BODY = 20

/** The refresh token of one generation of a grant, or undefined when its key is retired. */
export function makeRefreshToken(ring: KeyRing, token: RefreshToken, keyId: string): string | undefined {
  const key = ring.opener('mac', keyId)
  if (!key) return undefined
  const body = Buffer.alloc(BODY)
  body.write(token.grantId.replaceAll('-', ''), 'hex')
  body.writeUInt32BE(token.generation, 16)
  return `grr.${keyId}.${Buffer.concat([body, macOf(key, 'refresh token', body)]).toString('base64url')}`
}

/** What a genuine refresh token names; undefined for anything this service did not make. No I/O. */
export function openRefreshToken(ring: KeyRing, text: string): RefreshToken | undefined {
  if (text.length !== TOKEN || !text.startsWith(PREFIX)) return undefined
  const [keyId = '', encoded = '', ...rest] = text.slice(PREFIX.length).split('.')
  if (rest.length > 0) return undefined
  const key = ring.opener('mac', keyId)
  if (!key) return undefined
  const bytes = Buffer.from(encoded, 'base64url')
  if (bytes.toString('base64url') !== encoded) return undefined
  const body = bytes.subarray(0, BODY)
  if (!macMatches(key, 'refresh token', body, bytes.subarray(BODY))) return undefined
  return { grantId: uuidOf(body.subarray(0, 16)), generation: body.readUInt32BE(16) }
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
