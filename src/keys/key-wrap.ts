/**
 * Wraps keys at rest (AES-256-GCM) under the key-encryption key derived from `GRANTOR_SECRET`.
 * What is wrapped is bound to the key's id and kind: a row cannot be passed off as another.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyKind } from './key-ring.ts'

export type KeyWrap = {
  wrap(material: Uint8Array, id: string, kind: KeyKind): Uint8Array
  /** null where the secret is another than the one it was wrapped with, or the row was tampered with */
  unwrap(wrapped: Uint8Array, id: string, kind: KeyKind): Uint8Array | null
}

const NONCE = 12
const TAG = 16

export function createKeyWrap(secret: string): KeyWrap {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'grantor key-encryption key', 32))
  const context = (id: string, kind: KeyKind): Buffer => Buffer.from(`${kind}:${id}`)
  return {
    wrap(material, id, kind) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(context(id, kind))
      return Buffer.concat([nonce, cipher.update(material), cipher.final(), cipher.getAuthTag()])
    },
    unwrap(wrapped, id, kind) {
      if (wrapped.length < NONCE + TAG) return null
      const decipher = createDecipheriv('aes-256-gcm', key, wrapped.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAAD(context(id, kind)).setAuthTag(wrapped.subarray(-TAG))
      try {
        return Buffer.concat([decipher.update(wrapped.subarray(NONCE, -TAG)), decipher.final()])
      } catch {
        return null
      }
    },
  }
}
