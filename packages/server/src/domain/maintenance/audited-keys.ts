/** Records every change of a key in the audit log. */
import type { Audit } from '../model/audit-events.ts'
import type { KeyStore } from '../model/operator-store.ts'

export function auditKeys(keys: KeyStore, audit: Audit): KeyStore {
  return {
    ...keys,
    async insertKey(key) {
      const outcome = await keys.insertKey(key)
      if (outcome === 'inserted') await audit({ event: 'key_made', reason: key.kind, key_id: key.id })
      return outcome
    },
    async retireKey(keyId, kind, at) {
      const outcome = await keys.retireKey(keyId, kind, at)
      if (outcome === 'retired') await audit({ event: 'key_retired', reason: kind, key_id: keyId })
      return outcome
    },
  }
}
