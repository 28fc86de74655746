/** A key of 256 secret bits. Only its subkeys are used, one for each purpose (HKDF, RFC 5869). */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { SecretKey } from './key-ring.ts'

export function openSecretKey(material: Uint8Array, kind: 'seal' | 'mac', id: string, startsAt: number): SecretKey {
  const subkeys = new Map<string, KeyObject>()
  return {
    kind,
    id,
    startsAt,
    subkey(purpose) {
      const cached = subkeys.get(purpose)
      if (cached) return cached
      const subkey = createSecretKey(Buffer.from(hkdfSync('sha256', material, '', `grantor ${kind} ${purpose}`, 32)))
      subkeys.set(purpose, subkey)
      return subkey
    },
  }
}
