/** Checkpoints: the write-ahead log is copied into the database file while the service runs. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { NOW } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'
import { startStoreProcess } from '../start-process.ts'

/** More changed rows than the number that starts a step of the checkpoint thread. */
const MANY = 600
const PAGE = 4096

/** A file with a row on a page of its own for each name from 0 to `MANY`. */
async function openPages() {
  const path = await newSqlitePath()
  const connection = new SqliteConnection(path)
  onTestFinished(() => connection.close())
  connection.execute('CREATE TABLE pages (name INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT')
  const put = connection.prepareWrite('INSERT OR REPLACE INTO pages VALUES (?, ?)')
  return {
    path,
    connection,
    /** changes every page */
    async change(text: string): Promise<void> {
      const writes = Array.from({ length: MANY }, (_, name) =>
        connection.write(() => put.run(name, text.padEnd(PAGE / 2 + 1, '.'))),
      )
      await Promise.all(writes)
    },
    isInFile: (text: string) => readFileSync(path, 'latin1').includes(`${text}.`),
    pagesInLog: () => Math.ceil(statSync(`${path}-wal`).size / (PAGE + 24)),
  }
}

test('Committed pages are copied into the SQLite file before the log is long enough for a checkpoint within a commit', async () => {
  const { change, isInFile, pagesInLog } = await openPages()
  await change('first text')
  await expect.poll(() => isInFile('first text')).toBe(true)
  expect(pagesInLog(), 'pages in the log, fewer than start a checkpoint within a commit').toBeLessThan(2000)
})

test("SQLite's write-ahead log restarts while writes continue, so that it stays small", async () => {
  const { change, isInFile, pagesInLog } = await openPages()
  for (let round = 0; round < 12; round++) {
    await change(`text ${round}`)
    await expect.poll(() => isInFile(`text ${round}`)).toBe(true)
  }
  expect(pagesInLog(), `pages in the log after ${12 * MANY} were written`).toBeLessThan(4000)
})

test("While a replication program holds a read transaction, SQLite's log does not restart, and keeps every page", async () => {
  const { path, change, isInFile } = await openPages()
  await change('old text')
  await expect.poll(() => isInFile('old text')).toBe(true)
  const replication = new DatabaseSync(path, { readOnly: true })
  onTestFinished(() => replication.close())
  const texts = replication.prepare("SELECT DISTINCT rtrim(body, '.') AS text FROM pages")
  replication.exec('BEGIN')
  expect(texts.all()).toEqual([{ text: 'old text' }])
  await change('new text')
  const log = () => readFileSync(`${path}-wal`)
  const [salt, length] = [log().subarray(16, 24), log().length]
  for (let round = 0; round < 12; round++) await change(`text ${round}`)
  expect(log().subarray(16, 24), 'a log that starts again has another salt in its header').toEqual(salt)
  expect(log().length - length).toBeGreaterThan(12 * MANY * PAGE)
  expect(texts.all()).toEqual([{ text: 'old text' }])
  replication.exec('COMMIT')
  expect(texts.all()).toEqual([{ text: 'text 11' }])
})

test('Closing a SQLite store ends the checkpoint thread, keeps every committed row and leaves no file beside the database', async () => {
  const { path, connection, change } = await openPages()
  await change('last text')
  await connection.close()
  expect([path, `${path}-wal`, `${path}-shm`].map((file) => existsSync(file))).toEqual([true, false, false])
  const reopened = new DatabaseSync(path, { readOnly: true })
  onTestFinished(() => reopened.close())
  expect(reopened.prepare("SELECT count(*) AS count FROM pages WHERE body LIKE 'last text%'").get()).toEqual({ count: MANY })
})

test('If the checkpoint thread cannot start, one warning is logged, and every acknowledged write is still stored', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  // Node's permission model refuses threads.
  const writer = await startStoreProcess('write', path, ['--permission', '--allow-fs-read=*', '--allow-fs-write=*'])
  writer.goOn()
  const acknowledged: string[] = []
  while (acknowledged.length < 2000) acknowledged.push((await writer.line()) ?? '')
  await writer.kill('SIGKILL')
  expect(writer.stderr().match(/the checkpoint thread failed/g)).toHaveLength(1)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  for (const id of acknowledged) expect(await store.grants.readGrant(id)).toMatchObject({ id })
})
