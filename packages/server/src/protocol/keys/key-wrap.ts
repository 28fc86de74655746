/**
 * Wraps stored keys (AES-256-GCM) with the key-encryption key, which is derived from `GRANTOR_SECRET`. While that
 * secret is being changed, keys that are wrapped with the previous secret can be opened too. Wrapped material is bound
 * to the key's id and kind: it cannot be moved to another row.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyKind } from './key-ring.ts'

/** The secrets of webhooks are wrapped like keys. */
export type WrappedKind = KeyKind | 'webhook'

export type KeyWrap = {
  wrap(material: Uint8Array, id: string, kind: WrappedKind): Uint8Array
  /** null if neither secret opens the row, or if the row was tampered with */
  unwrap(wrapped: Uint8Array, id: string, kind: WrappedKind): Uint8Array | null
  /** whether the row is wrapped with the present secret, not with the previous one */
  isCurrent(wrapped: Uint8Array, id: string, kind: WrappedKind): boolean
}

const NONCE = 12
const TAG = 16

export function createKeyWrap(secret: string, previous?: string): KeyWrap {
  const key = keyEncryptionKeyOf(secret)
  const previousKey = previous === undefined ? undefined : keyEncryptionKeyOf(previous)
  return {
    wrap(material, id, kind) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(context(id, kind))
      return Buffer.concat([nonce, cipher.update(material), cipher.final(), cipher.getAuthTag()])
    },
    unwrap: (wrapped, id, kind) =>
      unwrapKey(key, wrapped, context(id, kind)) ?? (previousKey ? unwrapKey(previousKey, wrapped, context(id, kind)) : null),
    isCurrent: (wrapped, id, kind) => unwrapKey(key, wrapped, context(id, kind)) !== null,
  }
}

function keyEncryptionKeyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'grantor key-encryption key', 32))
}

function context(id: string, kind: WrappedKind): Buffer {
  return Buffer.from(`${kind}:${id}`)
}

function unwrapKey(key: Buffer, wrapped: Uint8Array, aad: Buffer): Uint8Array | null {
  if (wrapped.length < NONCE + TAG) return null
  const decipher = createDecipheriv('aes-256-gcm', key, wrapped.subarray(0, NONCE), { authTagLength: TAG })
  decipher.setAAD(aad).setAuthTag(wrapped.subarray(-TAG))
  try {
    return Buffer.concat([decipher.update(wrapped.subarray(NONCE, -TAG)), decipher.final()])
  } catch {
    return null
  }
}
