/** oidc-provider's storage port over one plain Map: nothing durable, nothing expires, nothing is evicted. */
import type { Adapter } from 'oidc-provider'

type Stored = Record<string, unknown> & { grantId?: string; uid?: string; consumed?: number }

export function createMapAdapter(): { adapter: (model: string) => Adapter; forget(): void } {
  const records = new Map<string, Stored>()
  const byGrant = new Map<string, string[]>()
  const sessionsByUid = new Map<string, string>()

  const adapter = (model: string): Adapter => {
    const keyOf = (id: string) => `${model}:${id}`
    const find = async (id: string) => records.get(keyOf(id))
    return {
      async upsert(id, payload) {
        const key = keyOf(id)
        const { grantId, uid }: Stored = payload
        if (model === 'Session' && uid !== undefined) sessionsByUid.set(uid, id)
        else if (grantId !== undefined) {
          const members = byGrant.get(grantId)
          if (members) members.push(key)
          else byGrant.set(grantId, [key])
        }
        records.set(key, payload)
      },
      find,
      async findByUid(uid) {
        return find(sessionsByUid.get(uid) ?? '')
      },
      async findByUserCode() {
        return undefined
      },
      async consume(id) {
        const record = records.get(keyOf(id))
        if (record) record.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        records.delete(keyOf(id))
      },
      async revokeByGrantId(grantId) {
        for (const key of byGrant.get(grantId) ?? []) records.delete(key)
        byGrant.delete(grantId)
      },
    }
  }

  return {
    adapter,
    forget() {
      for (const map of [records, byGrant, sessionsByUid]) map.clear()
    },
  }
}
