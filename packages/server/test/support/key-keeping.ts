/** The maintenance of keys, for tests that change keys as the upkeep and `grantor keys` do. */

import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { type KeyKeeping, keyState, loadKeys } from '../../src/domain/maintenance/keep-keys.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { type KeyKind, type KeyRecord, KeyRing } from '../../src/protocol/keys/key-ring.ts'
import { createKeyWrap } from '../../src/protocol/keys/key-wrap.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import { newSqlitePath } from '../store/sqlite-file.ts'
import { type Grantor, LIFETIMES, TEST_SECRET, TestClock } from './start.ts'

export function keepingOn({ keys }: Pick<Store, 'keys'>, clock: TestClock, more: Partial<KeyKeeping> = {}): KeyKeeping {
  return {
    store: keys,
    wrap: createKeyWrap(TEST_SECRET),
    signingAlgorithm: 'ES256',
    rotateAfter: 90 * 86_400,
    lifetimes: LIFETIMES,
    now: clock.now,
    ...more,
  }
}

/** That of a running service. */
export function keepingOf({ store, clock, deps }: Grantor, more: Partial<KeyKeeping> = {}): KeyKeeping {
  return keepingOn(store, clock, { lifetimes: deps.settings.lifetimes, ...more })
}

/** A new SQLite store without keys, which is closed when the test is over. */
export async function openKeyStore() {
  const path = await newSqlitePath()
  const clock = new TestClock()
  await migrateSqlite(path, clock.now())
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  return { path, clock, store, keeping: keepingOn(store, clock) }
}

/** The keys as a service loads them at its start. */
export async function loadRing(keeping: KeyKeeping): Promise<KeyRing> {
  const ring = new KeyRing(keeping.now)
  await loadKeys(keeping, ring)
  return ring
}

export async function keysOf({ store }: KeyKeeping, kind: KeyKind): Promise<KeyRecord[]> {
  return (await store.listKeys()).filter((key) => key.kind === kind)
}

export async function statesOf(keeping: KeyKeeping, kind: KeyKind): Promise<string[]> {
  const records = await keeping.store.listKeys()
  return records.filter((key) => key.kind === kind).map((key) => keyState(keeping, records, key))
}

/** Leaves the store as a version does that has only the algorithm of access tokens. */
export function forgetOtherAlgorithms(databasePath: string): void {
  const database = new DatabaseSync(databasePath)
  database.exec("DELETE FROM keys WHERE kind LIKE 'sign_%'")
  database.close()
}

/** Deletes the keys of other algorithms, and loads the keys of the node again: the node announces the missing keys. */
export async function upgradeKeys(grantor: Grantor): Promise<void> {
  forgetOtherAlgorithms(grantor.databasePath)
  await loadKeys(keepingOf(grantor), grantor.deps.keys)
}
