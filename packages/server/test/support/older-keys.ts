/** A store as a version leaves it that has only the algorithm of access tokens. */
import { DatabaseSync } from 'node:sqlite'
import { loadKeys } from '../../src/domain/maintenance/keep-keys.ts'
import { keepingOf } from './key-keeping.ts'
import type { Grantor } from './start.ts'

/** Deletes the keys of other algorithms. */
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
