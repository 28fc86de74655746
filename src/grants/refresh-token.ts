/**
 * Refresh tokens: `grr.<key id>.<base64url(grant id ‖ generation ‖ MAC)>`.
 *
 * A token is derived from its grant, its generation and a key, never stored and never random: the same three make
 * the same token again on any node, and a forgery fails its MAC before anything is read.
 */

import type { KeyRing } from '../keys/key-ring.ts'
import { macMatches, macOf } from '../keys/mac.ts'

export type RefreshToken = { grantId: string; generation: number }

const TOKEN = /^grr\.([0-9a-f]{10})\.([A-Za-z0-9_-]{70})$/
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
  const [, keyId = '', encoded = ''] = TOKEN.exec(text) ?? []
  const key = ring.opener('mac', keyId)
  if (!key) return undefined
  const bytes = Buffer.from(encoded, 'base64url')
  if (bytes.toString('base64url') !== encoded) return undefined
  const body = bytes.subarray(0, BODY)
  if (!macMatches(key, 'refresh token', body, bytes.subarray(BODY))) return undefined
  return { grantId: uuidOf(body.subarray(0, 16)), generation: body.readUInt32BE(16) }
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
