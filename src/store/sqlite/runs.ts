/** The programs that change a SQLite file: each takes a number, and has a row while it runs. */
import type { RunBook } from '../../grants/ports.ts'
import type { Connection } from './connection.ts'

/** Rows of programs that were cut off stay so many seconds: far longer than a backup's own minutes matter. */
const FORGOTTEN_AFTER = 86_400

type JournalRow = { last_run: number; salt: string }
type RunRow = { number: number; seen_at: number }

export function createRunBook(connection: Connection): RunBook {
  const take = connection.prepareWrite('UPDATE journal SET last_run = last_run + 1 WHERE id = 1 RETURNING last_run, salt')
  const put = connection.prepareWrite(
    'INSERT INTO runs (number, seen_at) VALUES (:number, :at) ON CONFLICT (number) DO UPDATE SET seen_at = excluded.seen_at',
  )
  const forget = connection.prepareWrite('DELETE FROM runs WHERE seen_at < ?')
  const end = connection.prepareWrite('DELETE FROM runs WHERE number = ?')
  const present = connection.prepareWrite('SELECT last_run, salt FROM journal WHERE id = 1')
  const list = connection.prepareWrite('SELECT number, seen_at FROM runs ORDER BY number')
  const forgetAll = connection.prepareWrite('DELETE FROM runs')
  const goOn = connection.prepareWrite('UPDATE journal SET last_run = max(last_run, ?) WHERE id = 1')
  const resalt = connection.prepareWrite('UPDATE journal SET salt = ? WHERE id = 1')
  return {
    beginRun: (at) =>
      connection.write(() => {
        const { last_run: number, salt } = take.get() as JournalRow
        put.run({ number, at })
        forget.run(at - FORGOTTEN_AFTER)
        return { number, salt }
      }),
    noteRun: (number, at) =>
      connection.write(() => {
        put.run({ number, at })
        return (present.get() as JournalRow).last_run
      }),
    endRun: (number) => connection.write(() => void end.run(number)),
    readRuns: () =>
      connection.write(() => {
        const { last_run: last, salt } = present.get() as JournalRow
        const open = (list.all() as RunRow[]).map((row) => ({ number: row.number, seenAt: row.seen_at }))
        return { last, salt, open }
      }),
    beginJournal: (salt) =>
      connection.write(() => {
        resalt.run(salt)
        forgetAll.run()
      }),
    resetRuns: (last) =>
      connection.write(() => {
        goOn.run(last)
        forgetAll.run()
      }),
  }
}
