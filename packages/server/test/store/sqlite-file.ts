/** A SQLite file for one test, in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/domain/model/store.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'

/** Resolves to a path at which no file exists. The folder is deleted when the test is over. */
export async function newSqlitePath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'grantor-store-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'grantor.sqlite')
}

/** Opens two stores on one new file, as two nodes do. Both are closed when the test is over. */
export async function openTwoNodes(at?: string): Promise<[Store, Store]> {
  const path = at ?? (await newSqlitePath())
  await migrateSqlite(path, 1_800_000_000)
  const nodes: [Store, Store] = [openSqliteStore(path), openSqliteStore(path)]
  onTestFinished(async () => {
    for (const node of nodes) await node.close()
  })
  return nodes
}
