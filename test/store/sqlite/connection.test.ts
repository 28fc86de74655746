/** One tick, one commit: what a SQLite connection promises to the moves that share it. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { Connection } from '../../../src/store/sqlite/connection.ts'
import { newSqlitePath } from '../sqlite-file.ts'

/** A connection to a file with one table, and what another process would read in it. */
async function openNotes() {
  const path = await newSqlitePath()
  const connection = new Connection(path)
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

test('moves asked for in one turn of the event loop become durable together, and are told only afterwards', async () => {
  const { connection, note, insert, seenOutside } = await openNotes()
  const first = note('first').then(seenOutside)
  const during = connection.write(() => {
    insert('second')
    return seenOutside()
  })
  expect(await during, 'nothing is seen before the commit').toEqual([])
  expect(await first, 'what is told is there for everybody').toEqual(['first', 'second'])
})

test('a commit waits for the disk: a write-ahead log, synced at every commit', async () => {
  const { connection } = await openNotes()
  expect(connection.prepareWrite('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  expect(connection.prepareWrite('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  expect(connection.prepareWrite('PRAGMA busy_timeout').get(), 'and never for a lock').toEqual({ timeout: 0 })
})

test('a move that throws is undone alone, and its caller reads what it threw', async () => {
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

test('a move sees what the moves before it in the same tick did', async () => {
  const { connection, note } = await openNotes()
  const count = connection.prepareWrite('SELECT count(*) AS count FROM notes')
  void note('first')
  expect(await connection.write(() => count.get())).toEqual({ count: 1 })
})

test('where the commit itself fails, every move of the tick is told so, nothing of it is there, and the next tick works', async () => {
  const { connection, note, insert, seenOutside } = await openNotes()
  // A broken deferred constraint is found by COMMIT, and leaves the transaction open.
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

test('a full disk is StoreUnavailable, and the store works again by itself once there is room', async () => {
  const { connection, note, seenOutside } = await openNotes()
  connection.execute('PRAGMA max_page_count = 10')
  const outcomes = await Promise.allSettled([note('first'), note('second', 'x'.repeat(100_000))])
  expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) })
  const told = outcomes[0]?.status === 'fulfilled' ? ['first'] : []
  expect(seenOutside(), 'only what was told as done is there').toEqual(told)
  connection.execute('PRAGMA max_page_count = 1000000')
  await note('third', 'x'.repeat(100_000))
  expect(seenOutside()).toEqual([...told, 'third'])
})

test('a read-only file is StoreUnavailable for moves, while reads are answered, and passes', async () => {
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

test('a read is answered from what is committed, never from a tick under way', async () => {
  const { connection, note } = await openNotes()
  const count = connection.prepareRead('SELECT count(*) AS count FROM notes')
  const noted = note('first')
  expect(await connection.read(() => count.get())).toEqual({ count: 0 })
  await noted
  expect(await connection.read(() => count.get())).toEqual({ count: 1 })
})

test('a read that is a defect is told as it is', async () => {
  const { connection } = await openNotes()
  const missing = connection.read(() => connection.prepareRead('SELECT * FROM nowhere').all())
  await expect(missing).rejects.toThrow('no such table')
  await expect(missing).rejects.not.toBeInstanceOf(StoreUnavailable)
})

test('closing answers the moves asked for before and takes none after', async () => {
  const { connection, note, seenOutside } = await openNotes()
  const before = note('before')
  const closed = connection.close()
  const after = note('after')
  await expect(after).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await before).toBe(1)
  await Promise.all([closed, connection.close()])
  expect(seenOutside()).toEqual(['before'])
})

test('the file and those beside it are readable by their owner only, whatever the umask', async () => {
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const { path, note } = await openNotes()
  await note('first')
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777, `mode of ${file}`).toBe(0o600)
})

test('a name that means something to SQLite is a file’s name all the same', async () => {
  const folder = dirname(await newSqlitePath())
  const before = process.cwd()
  onTestFinished(() => process.chdir(before))
  process.chdir(folder)
  for (const name of [':memory:', 'file:other.sqlite?mode=memory', 'a?mode=ro#b%20c']) {
    const connection = new Connection(name)
    connection.execute('CREATE TABLE notes (name TEXT) STRICT')
    expect(await connection.read(() => connection.prepareRead('SELECT * FROM notes').all())).toEqual([])
    await connection.close()
    expect(statSync(join(folder, name)).size).toBeGreaterThan(0)
  }
})

test('a file that cannot be opened is StoreUnavailable, naming it', async () => {
  const path = await newSqlitePath()
  expect(() => new Connection(join(path, 'below/grantor.sqlite'))).toThrow(StoreUnavailable)
  mkdirSync(path)
  expect(() => new Connection(path)).toThrow(`cannot open ${path}`)
  writeFileSync(
    `${path}-text`,
    'This is a text, long enough to be taken for the head of a database file of SQLite, but it is none.'.repeat(9),
  )
  expect(() => new Connection(`${path}-text`)).toThrow(StoreUnavailable)
})

test('a process that commits in every turn of the event loop leaves turns out while another process writes, so that the other gets the lock', async () => {
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
  'a second connection in one process leaves the locks of the first in place, by which other processes see that the file is in use',
  async () => {
    const path = await newSqlitePath()
    const locks = () =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter((line) => line.includes(`:${statSync(path).ino} `))
    const first = new Connection(path)
    onTestFinished(() => first.close())
    await first.read(() => first.prepareRead('SELECT * FROM sqlite_schema').all())
    expect(locks()).toHaveLength(1)
    const second = new Connection(path)
    onTestFinished(() => second.close())
    expect(locks()).toHaveLength(1)
  },
)
