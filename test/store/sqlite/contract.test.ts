import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { storeContract } from '../store-contract.ts'

storeContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'grantor-store-'))
  const path = join(folder, 'grantor.sqlite')
  await migrateSqlite(path, 1_800_000_000)
  const nodes = [openSqliteStore(path), openSqliteStore(path)] as const
  const opened = [...nodes]
  const closeAll = () => Promise.all(opened.map((store) => store.close()))
  return {
    nodes: [...nodes],
    async restart() {
      await closeAll()
      const store = openSqliteStore(path)
      opened.push(store)
      return store
    },
    async refuseWrites() {
      const holder = new DatabaseSync(path)
      holder.exec('BEGIN IMMEDIATE')
      return async () => holder.close()
    },
    async close() {
      await closeAll()
      await rm(folder, { recursive: true })
    },
  }
})
