/** The periodic work of a node: reloading changed clients, resources and keys within a second, and rotating and retiring keys. */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import type { Changed } from '../model/changes.ts'
import { type Store } from '../model/store.ts'
import { StoreUnavailable } from '../model/store-errors.ts'
import { type KeyKeeping, keepKeys, loadKeys } from './keep-keys.ts'

export type Upkeep = {
  /** reads the store's revision and reloads what changed; runs twice a second */
  noticeChanges(): Promise<void>
  /** rotates and retires keys by age; runs once a minute */
  keepKeys(): Promise<void>
}

/** What a node keeps in memory of clients and resources. `forget` may read the store, and runs again if it fails. */
export type Remembered = { forget(changed: Changed): Promise<void> | void }

export function createUpkeep(store: Store, remembered: Remembered, ring: KeyRing, keeping: KeyKeeping): Upkeep {
  let revision = -1
  const readChanges = async (): Promise<void> => {
    if ((await store.readRevision()) === revision) return
    const changes = await store.readChanges(revision)
    // Nothing is dropped from memory before this read: what is read from now on is at least as new as the revision.
    await remembered.forget(changes.changed)
    await loadKeys(keeping, ring)
    revision = changes.revision
  }
  const noticeChanges = async (): Promise<void> => {
    try {
      await readChanges()
      ring.trust()
    } catch (error) {
      // Another node may have stored a key that this node cannot read now.
      ring.doubt(new StoreUnavailable('the stored keys cannot be read', { cause: error }))
      throw error
    }
  }
  return {
    noticeChanges,
    async keepKeys() {
      await keepKeys(keeping)
      await noticeChanges()
    },
  }
}
