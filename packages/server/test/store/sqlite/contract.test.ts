import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { NOW } from '../contract/subject.ts'
import { storeContract } from '../store-contract.ts'

storeContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'grantor-store-'))
  const path = join(folder, 'grantor.sqlite')
  await migrateSqlite(path, NOW)
  const open = () => openSqliteStore(path, { now: () => NOW })
  const nodes = [open(), open()] as const
  const opened = [...nodes]
  const closeAll = () => Promise.all(opened.map((store) => store.close()))
  return {
    nodes: [...nodes],
    async restart() {
      await closeAll()
      const store = open()
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
