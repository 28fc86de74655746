/** One commit per iteration of the event loop, and what a SQLite connection guarantees to the writes that share it. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts'
import { newSqlitePath } from '../sqlite-file.ts'

/** A connection to a file with one table, and a reader of the same file outside of the connection. */
async function openNotes() {
  const path = await newSqlitePath()
  const connection = new SqliteConnection(path)
  connection.execute('CREATE TABLE notes (name TEXT PRIMARY KEY, body TEXT) STRICT')
  const outside = new DatabaseSync(path)
  onTestFinished(async () => {
    outside.close()
    await connection.close()
  })
  const insert = connection.prepareWrite('INSERT INTO notes VALUES (?, ?)')
  const select = outside.prepare('SELECT name FROM notes ORDER BY name')
  return {
    path,
    connection,
    outside,
    note: (name: string, body = '') => connection.write(() => insert.run(name, body).changes),
    insert: (name: string, body = '') => insert.run(name, body),
    seenOutside: () => select.all().map((row) => row.name),
  }
}

test('Writes of one event-loop iteration share a commit, and each is acknowledged only after that commit', async () => {
  const { connection, note, insert, seenOutside } = await openNotes()
  const first = note('first').then(seenOutside)
  const during = connection.write(() => {
    insert('second')
    return seenOutside()
  })
  expect(await during, 'other connections see nothing before the commit').toEqual([])
  expect(await first, 'other connections see every acknowledged write').toEqual(['first', 'second'])
})

test('A commit waits for the disk: SQLite uses a write-ahead log and syncs it at every commit', async () => {
  const { connection } = await openNotes()
  expect(connection.prepareWrite('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  expect(connection.prepareWrite('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  expect(connection.prepareWrite('PRAGMA busy_timeout').get(), 'and never for a lock').toEqual({ timeout: 0 })
})

test('A write that throws is rolled back alone, and its caller gets the error', async () => {
  const { connection, note, insert, seenOutside } = await openNotes()
  const defect = new TypeError('a defect')
  const outcomes = await Promise.allSettled([
    note('first'),
    connection.write(() => {
      insert('second')
      throw defect
    }),
    note('first'),
    note('third'),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: defect })
  expect(outcomes[2], 'a broken constraint is a defect, not an outage').not.toMatchObject({
    reason: expect.any(StoreUnavailable),
  })
  expect(seenOutside()).toEqual(['first', 'third'])
})

test('A write sees the changes of earlier writes in the same event-loop iteration', async () => {
  const { connection, note } = await openNotes()
  const count = connection.prepareWrite('SELECT count(*) AS count FROM notes')
  void note('first')
  expect(await connection.write(() => count.get())).toEqual({ count: 1 })
})

test('If a shared commit fails, every write in it fails and is rolled back, and the next write succeeds', async () => {
  const { connection, note, insert, seenOutside } = await openNotes()
  // COMMIT detects a violated deferred constraint, and leaves the transaction open.
  connection.execute('PRAGMA foreign_keys = ON')
  connection.execute('CREATE TABLE answers (note TEXT REFERENCES notes DEFERRABLE INITIALLY DEFERRED) STRICT')
  const answer = connection.prepareWrite('INSERT INTO answers VALUES (?)')
  const outcomes = await Promise.allSettled([
    note('first'),
    connection.write(() => answer.run('nowhere')),
    connection.write(() => {
      insert('third')
      throw new TypeError('a defect')
    }),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { message: 'FOREIGN KEY constraint failed' } })
  expect(seenOutside()).toEqual([])
  await note('later')
  expect(seenOutside()).toEqual(['later'])
})

test('On a full disk a write fails with StoreUnavailable, and writes succeed again without a restart once there is room', async () => {
  const { connection, note, seenOutside } = await openNotes()
  connection.execute('PRAGMA max_page_count = 10')
  const outcomes = await Promise.allSettled([note('first'), note('second', 'x'.repeat(100_000))])
  expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) })
  const acknowledged = outcomes[0]?.status === 'fulfilled' ? ['first'] : []
  expect(seenOutside(), 'only acknowledged writes are stored').toEqual(acknowledged)
  connection.execute('PRAGMA max_page_count = 1000000')
  await note('third', 'x'.repeat(100_000))
  expect(seenOutside()).toEqual([...acknowledged, 'third'])
})

test('If the file is read-only, writes fail with StoreUnavailable, reads succeed, and writes work again afterwards', async () => {
  const { connection, note, seenOutside } = await openNotes()
  await note('first')
  const count = connection.prepareRead('SELECT count(*) AS count FROM notes')
  connection.execute('PRAGMA query_only = ON')
  const outcomes = await Promise.allSettled([note('second'), note('third')])
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailable) })
  expect(await connection.read(() => count.get())).toEqual({ count: 1 })
  connection.execute('PRAGMA query_only = OFF')
  await note('fourth')
  expect(seenOutside()).toEqual(['first', 'fourth'])
})

test('A read returns committed data only, not that of a pending shared commit', async () => {
  const { connection, note } = await openNotes()
  const count = connection.prepareRead('SELECT count(*) AS count FROM notes')
  const noted = note('first')
  expect(await connection.read(() => count.get())).toEqual({ count: 0 })
  await noted
  expect(await connection.read(() => count.get())).toEqual({ count: 1 })
})

test('A read that fails because of a programming error passes on the original error', async () => {
  const { connection } = await openNotes()
  const missing = connection.read(() => connection.prepareRead('SELECT * FROM nowhere').all())
  await expect(missing).rejects.toThrow('no such table')
  await expect(missing).rejects.not.toBeInstanceOf(StoreUnavailable)
})

test('Closing a connection completes earlier writes and refuses later ones', async () => {
  const { connection, note, seenOutside } = await openNotes()
  const before = note('before')
  const closed = connection.close()
  const after = note('after')
  await expect(after).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await before).toBe(1)
  await Promise.all([closed, connection.close()])
  expect(seenOutside()).toEqual(['before'])
})

test('The database file and the files beside it are readable by their owner only, whatever the umask is', async () => {
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const { path, note } = await openNotes()
  await note('first')
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777, `mode of ${file}`).toBe(0o600)
})

test('A path that SQLite would read as a URI or as :memory: is used as the name of a file', async () => {
  const folder = dirname(await newSqlitePath())
  const before = process.cwd()
  onTestFinished(() => process.chdir(before))
  process.chdir(folder)
  for (const name of [':memory:', 'file:other.sqlite?mode=memory', 'a?mode=ro#b%20c']) {
    const connection = new SqliteConnection(name)
    connection.execute('CREATE TABLE notes (name TEXT) STRICT')
    expect(await connection.read(() => connection.prepareRead('SELECT * FROM notes').all())).toEqual([])
    await connection.close()
    expect(statSync(join(folder, name)).size).toBeGreaterThan(0)
  }
})

test('A file that cannot be opened fails with StoreUnavailable, which names the file', async () => {
  const path = await newSqlitePath()
  expect(() => new SqliteConnection(join(path, 'below/grantor.sqlite'))).toThrow(StoreUnavailable)
  mkdirSync(path)
  expect(() => new SqliteConnection(path)).toThrow(`cannot open ${path} (unable to open database file)`)
  writeFileSync(
    `${path}-text`,
    'This is a text, long enough to be taken for the head of a database file of SQLite, but it is none.'.repeat(9),
  )
  expect(() => new SqliteConnection(`${path}-text`)).toThrow(StoreUnavailable)
})

test('A process that commits all the time pauses while another process writes, so that the other gets the lock', async () => {
  const { note, outside } = await openNotes()
  let turns = 0
  let counting = setImmediate(function count() {
    turns++
    counting = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(counting))
  const turnsOfWrite = async (name: string) => {
    const before = turns
    await note(name)
    return turns - before
  }
  for (let index = 0; index < 200; index++) expect(await turnsOfWrite(`alone ${index}`)).toBeLessThan(3)
  for (let index = 0, longest = 0; longest < 10; index++) {
    outside.exec(`INSERT INTO notes VALUES ('of another process ${index}', '')`)
    longest = await turnsOfWrite(`together ${index}`)
  }
})

test.runIf(process.platform === 'linux')(
  "A second connection in one process keeps the first one's file locks, which show other processes that the file is in use",
  async () => {
    const path = await newSqlitePath()
    const locks = () =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter((line) => line.includes(`:${statSync(path).ino} `))
    const first = new SqliteConnection(path)
    onTestFinished(() => first.close())
    await first.read(() => first.prepareRead('SELECT * FROM sqlite_schema').all())
    expect(locks()).toHaveLength(1)
    const second = new SqliteConnection(path)
    onTestFinished(() => second.close())
    expect(locks()).toHaveLength(1)
  },
)
