/** Reads of one event-loop iteration share a read transaction. */
import { expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts'
import { newSqlitePath } from '../sqlite-file.ts'

async function openNotes() {
  const path = await newSqlitePath()
  const open = () => {
    const connection = new SqliteConnection(path)
    onTestFinished(() => connection.close())
    return connection
  }
  const connection = open()
  connection.execute('CREATE TABLE notes (name TEXT PRIMARY KEY) STRICT')
  const insert = connection.prepareWrite('INSERT INTO notes VALUES (?)')
  const count = connection.prepareRead('SELECT count(*) AS count FROM notes')
  return {
    connection,
    another: open,
    note: (name: string) => connection.writeByOne(() => insert.run(name).changes),
    count: () => connection.read(() => (count.get() as { count: number }).count),
  }
}

test('Every later read sees an acknowledged write of any connection, even if several reads share a transaction', async () => {
  const { note, another, count } = await openNotes()
  const other = another()
  const insert = other.prepareWrite('INSERT INTO notes VALUES (?)')
  for (let round = 0; round < 20; round++) {
    void count()
    await note(`mine ${round}`)
    expect(await Promise.all([count(), count(), count()])).toEqual([2 * round + 1, 2 * round + 1, 2 * round + 1])
    void count()
    await other.write(() => insert.run(`theirs ${round}`))
    expect(await Promise.all([count(), count()])).toEqual([2 * round + 2, 2 * round + 2])
  }
})

test('A read that throws does not affect the other reads that share its transaction', async () => {
  const { connection, note, count } = await openNotes()
  await note('one')
  const defect = new TypeError('a defect')
  const outcomes = await Promise.allSettled([
    count(),
    connection.read(() => {
      throw defect
    }),
    count(),
  ])
  expect(outcomes).toMatchObject([{ value: 1 }, { reason: defect }, { value: 1 }])
  expect(await count()).toBe(1)
})

test('Reads that started before closing succeed, and later ones fail with StoreUnavailable', async () => {
  const { connection, note, count } = await openNotes()
  await note('one')
  const before = [count(), count()]
  await connection.close()
  expect(await Promise.all(before)).toEqual([1, 1])
  await expect(count()).rejects.toBeInstanceOf(StoreUnavailable)
})

test('A single-statement write that violates a constraint is rolled back alone, without a savepoint', async () => {
  const { note, count } = await openNotes()
  const outcomes = await Promise.allSettled([note('one'), note('one'), note('two')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await count()).toBe(2)
})
