/** The part that notices changes of other nodes, and that rotates and retires keys. */
import { auditKeys } from '../../domain/maintenance/audited-keys.ts'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import { createUpkeep, type Remembered, type Upkeep } from '../../domain/maintenance/upkeep.ts'
import type { Deps } from '../../domain/model/deps.ts'
import type { KeyStore } from '../../domain/model/operator-store.ts'
import type { Store } from '../../domain/model/store.ts'
import type { OutageLog } from '../../http/outage-log.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { KeyTimes } from '../../observability/metrics/service-metrics.ts'
import type { KeyRecord, KeyRing } from '../../protocol/keys/key-ring.ts'
import type { Part } from '../process/background.ts'

type UpkeepParts = Remembered & {
  store: Store
  keys: KeyRing
  now: () => number
  audit: Deps['audit']
  metrics: Pick<Metrics, 'watchKeys'> | undefined
  storeOutage: OutageLog
}

/** The keys are loaded before the function returns. */
export async function composeUpkeep(
  settings: { keys: Omit<KeyKeeping, 'store' | 'now'> },
  { store, keys, now, audit, metrics, storeOutage, forget }: UpkeepParts,
): Promise<Part & Pick<Upkeep, 'noticeChanges'> & { keyKeeping: KeyKeeping; keyDueAt: () => number | null }> {
  const watched = watchedKeys(auditKeys(store.keys, audit), settings.keys.rotateAfter)
  metrics?.watchKeys(watched.read)
  const keyKeeping = { ...settings.keys, store: watched.keys, now }
  const { noticeChanges, keepKeys } = createUpkeep(store, { forget }, keys, keyKeeping)
  await noticeChanges()
  const run = async (): Promise<void> => {
    await noticeChanges()
    storeOutage.works()
  }
  return {
    keyKeeping,
    noticeChanges,
    keyDueAt: () => watched.read().reduce<number | null>((first, { dueAt }) => Math.min(first ?? dueAt, dueAt), null),
    tasks: [
      { name: 'noticing changes', every: 0.5, run },
      { name: 'keeping keys', every: 60, run: keepKeys },
    ],
  }
}

/** Keeps in memory the keys that a node has read, so that a scrape of the metrics reads nothing from the store. */
function watchedKeys(keys: KeyStore, rotateAfter: number): { keys: KeyStore; read: () => KeyTimes[] } {
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
