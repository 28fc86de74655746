/** Keeps in memory the keys that a node has read, so that a scrape of the metrics reads nothing from the store. */
import type { KeyStore } from '../../domain/model/operator-store.ts'
import type { KeyRecord } from '../../keys/key-ring.ts'
import type { KeyTimes } from '../../ops/metrics/service-metrics.ts'

export function watchedKeys(keys: KeyStore, rotateAfter: number): { keys: KeyStore; read: () => KeyTimes[] } {
  let latest: KeyRecord[] = []
  return {
    keys: {
      ...keys,
      async listKeys() {
        latest = await keys.listKeys()
        return latest
      },
    },
    read: () => youngestOf(latest).map(({ kind, createdAt }) => ({ kind, createdAt, dueAt: createdAt + rotateAfter })),
  }
}

function youngestOf(records: KeyRecord[]): KeyRecord[] {
  const youngest = new Map<string, KeyRecord>()
  for (const record of records) {
    if (record.retiredAt === null && record.number > (youngest.get(record.kind)?.number ?? 0)) youngest.set(record.kind, record)
  }
  return [...youngest.values()]
}
