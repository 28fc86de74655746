/** Several processes on one SQLite file, and a process that is killed. */
import { expect, onTestFinished, test } from 'vitest'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { NOW, newGrant } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'
import { startStoreProcess } from '../start-process.ts'

async function openMigrated() {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  return { path, store }
}

test('Of three processes that redeem the same 200 codes at once, exactly one redeems each code (RFC 6749 §4.1.2)', async () => {
  const { path, store } = await openMigrated()
  const others = await Promise.all([startStoreProcess('redeem', path), startStoreProcess('redeem', path)])
  for (const other of others) other.goOn()
  const codes = Array.from({ length: 200 }, (_, index) => newGrant({ id: `code-${index}`, clientId: String(process.pid) }))
  const ours = await Promise.all(codes.map((code) => store.grants.redeemCode(code, 'attempt', NOW)))
  const kinds = [ours.map(({ kind }) => kind)]
  for (const other of others) kinds.push(JSON.parse((await other.line()) ?? '[]') as (typeof kinds)[0])
  for (const [index] of codes.entries()) {
    const wins = kinds.filter((each) => each[index] === 'redeemed')
    const losses = kinds.filter((each) => each[index] === 'taken')
    expect([wins.length, losses.length], `code ${index}`).toEqual([1, 2])
  }
})

test('A process that is killed while it writes loses no acknowledged write, and leaves the file unlocked', async () => {
  const { path, store } = await openMigrated()
  const writer = await startStoreProcess('write', path)
  writer.goOn()
  const acknowledged: string[] = []
  // Enough writes for several steps of the checkpoint thread.
  while (acknowledged.length < 2000) acknowledged.push((await writer.line()) ?? '')
  await writer.kill('SIGKILL')
  for (let line = await writer.line(); line !== undefined; line = await writer.line())
    if (line.length === 36) acknowledged.push(line)
  for (const id of acknowledged) expect(await store.grants.readGrant(id)).toMatchObject({ id, generation: 0, endedAt: null })
  // The file is not left locked.
  expect((await store.grants.redeemCode(newGrant(), 'attempt', NOW)).kind).toBe('redeemed')
})

test('Acknowledged writes of a killed process are stored when the file is opened next', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const writer = await startStoreProcess('write', path)
  writer.goOn()
  const acknowledged: string[] = []
  while (acknowledged.length < 200) acknowledged.push((await writer.line()) ?? '')
  await writer.kill('SIGKILL')
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  for (const id of acknowledged) expect(await store.grants.readGrant(id)).not.toBeNull()
})

test.runIf(process.platform === 'linux')(
  'If the disk refuses writes, a write fails with StoreUnavailable, no acknowledged write is lost, and later writes succeed',
  async () => {
    const { path, store } = await openMigrated()
    const writer = await startStoreProcess('fill', path)
    writer.limitFileSize(200_000)
    writer.goOn()
    expect(await writer.line()).toBe('StoreUnavailable')
    const acknowledged = JSON.parse((await writer.line()) ?? '[]') as string[]
    expect(acknowledged.length).toBeGreaterThan(0)
    writer.limitFileSize('unlimited')
    writer.goOn()
    expect(await writer.line()).toBe('redeemed')
    for (const id of acknowledged) expect(await store.grants.readGrant(id)).not.toBeNull()
    expect(await store.grants.listGrants({ limit: 10_000 })).toHaveLength(acknowledged.length + 1)
  },
)

test('Of four processes that migrate and open one new file at once, one takes the steps, and the file is usable', async () => {
  const path = await newSqlitePath()
  const processes = await Promise.all([1, 2, 3, 4].map(() => startStoreProcess('migrate', path)))
  for (const each of processes) each.goOn()
  const taken = await Promise.all(processes.map((each) => each.line()))
  expect(taken.filter((steps) => steps === String(MIGRATIONS.length))).toHaveLength(1)
  expect(taken.filter((steps) => steps === '0')).toHaveLength(3)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  await store.checkWritable()
})
