/** Litestream relies on this: a copy of the SQLite file and its write-ahead log, made while the service runs, is a complete database. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { startLoad } from '../../support/acknowledged.ts'
import { startApp } from '../../support/app.ts'
import { hangUp, send } from '../../support/send.ts'
import { startGrantor } from '../../support/start.ts'
import { newFolder } from '../run.ts'

/** Opens a read transaction, as Litestream does. Until the transaction ends, no checkpoint can discard a part of the log. */
function holdLog(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT number FROM revision').get()
  return reader
}

function checkpoint(path: string): void {
  const other = new DatabaseSync(path)
  other.exec('PRAGMA wal_checkpoint(PASSIVE)')
  other.close()
}

function integrityOf(path: string): unknown {
  const database = new DatabaseSync(path)
  const [row] = database.prepare('PRAGMA integrity_check').all()
  database.close()
  return row?.integrity_check
}

test('A copy of the SQLite file and its WAL that is made while the service writes has every acknowledged change, and a server starts on it', async () => {
  const app = await startApp({ lifetimes: { refreshRetryWindow: 3600 } })
  onTestFinished(() => app.close())
  const { databasePath: path, clock, ports } = app.grantor
  const folder = newFolder()
  const [early, whole] = ['early.sqlite', 'whole.sqlite'].map((name) => join(folder, name)) as [string, string]
  const reader = holdLog(path)
  onTestFinished(() => reader.close())
  const load = await startLoad(app)
  await load.more(30)
  checkpoint(path)
  for (const copy of [early, whole]) copyFileSync(path, copy)
  await load.more(30)
  copyFileSync(`${path}-wal`, `${early}-wal`)
  checkpoint(path)
  await load.more(100)
  await load.stop()
  copyFileSync(`${path}-wal`, `${whole}-wal`)
  hangUp()
  await app.close()

  expect(integrityOf(early), 'a log that was cut in the middle of a commit').toBe('ok')
  const grantor = await startGrantor({ databasePath: whole, clock, ports, lifetimes: { refreshRetryWindow: 3600 } })
  onTestFinished(() => grantor.close())
  expect((await send(grantor.authUrl, { path: '/health/ready' })).status).toBe(200)
  await load.check(grantor)
  expect(integrityOf(whole)).toBe('ok')
})
