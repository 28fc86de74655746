/**
 * Refresh tokens: `grr.<key id>.<base64url(grant id ‖ generation ‖ MAC)>`.
 *
 * A refresh token is derived from the grant id, the generation and a key, and is neither stored nor random: every node derives the
 * same token. The MAC of a forged token fails before any query (RFC 6749 §10.4, RFC 7009 §5, RFC 9700 §4.14.2).
 */

import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { macMatches, macOf } from '../../protocol/keys/mac.ts'
import { bytesOfUuid, uuidOfBytes } from '../model/uuid.ts'

export type RefreshToken = { grantId: string; generation: number }

const PREFIX = 'grr.'
const KEY_ID_LENGTH = 10
/** in characters */
const TOKEN_LENGTH = PREFIX.length + KEY_ID_LENGTH + 1 + 70
/** in bytes: the grant id and the generation */
const BODY_LENGTH = 20

/** The refresh token of one generation of a grant; undefined if the key is retired. */
export function makeRefreshToken(ring: KeyRing, token: RefreshToken, keyId: string): string | undefined {
  const key = ring.opener('mac', keyId)
  if (!key) return undefined
  const body = Buffer.alloc(BODY_LENGTH)
  body.set(bytesOfUuid(token.grantId))
  body.writeUInt32BE(token.generation, 16)
  return `grr.${keyId}.${Buffer.concat([body, macOf(key, 'refresh token', body)]).toString('base64url')}`
}

/** The grant id and the generation of a refresh token; undefined if this service did not make the token. Does no I/O. */
export function openRefreshToken(ring: KeyRing, text: string): RefreshToken | undefined {
  if (text.length !== TOKEN_LENGTH || !text.startsWith(PREFIX)) return undefined
  const [keyId = '', encoded = '', ...rest] = text.slice(PREFIX.length).split('.')
  if (rest.length > 0) return undefined
  const key = ring.opener('mac', keyId)
  if (!key) return undefined
  const bytes = Buffer.from(encoded, 'base64url')
  if (bytes.toString('base64url') !== encoded) return undefined
  const body = bytes.subarray(0, BODY_LENGTH)
  if (!macMatches(key, 'refresh token', body, bytes.subarray(BODY_LENGTH))) return undefined
  return { grantId: uuidOfBytes(body.subarray(0, 16)), generation: body.readUInt32BE(16) }
}
