/** The programs that change a PostgreSQL database: each takes a number, and has a row while it runs. */
import type { RunBook } from '../../grants/ports.ts'
import type { Connection } from './connection/connection.ts'

/** Rows of programs that were cut off stay so many seconds: far longer than a backup's own minutes matter. */
const FORGOTTEN_AFTER = 86_400

export function createRunBook(connection: Connection): RunBook {
  // Taken twice, where the first answer was lost, a number is missing in every journal: which says no more than it may.
  const take = connection.prepare<{ number: number; salt: string }>(
    'move',
    'UPDATE journal SET last_run = last_run + 1 WHERE id = 1 RETURNING last_run AS number, salt',
  )
  const put = connection.prepare(
    'move',
    'INSERT INTO runs (number, seen_at) VALUES (:number, :at) ON CONFLICT (number) DO UPDATE SET seen_at = excluded.seen_at',
  )
  const forget = connection.prepare('move', `DELETE FROM runs WHERE seen_at < :at - ${FORGOTTEN_AFTER}`)
  const end = connection.prepare('move', 'DELETE FROM runs WHERE number = :number')
  const read = connection.prepare<{ last_run: number; salt: string }>('read', 'SELECT last_run, salt FROM journal WHERE id = 1')
  const list = connection.prepare<{ number: number; seen_at: number }>('read', 'SELECT number, seen_at FROM runs ORDER BY number')
  const forgetAll = connection.prepare('move', 'DELETE FROM runs')
  const goOn = connection.prepare('move', 'UPDATE journal SET last_run = greatest(last_run, :last::bigint) WHERE id = 1')
  const resalt = connection.prepare('move', 'UPDATE journal SET salt = :salt WHERE id = 1')
  const present = async () => (await read())[0] ?? { last_run: 0, salt: '' }
  return {
    async beginRun(at) {
      const [taken = { number: 0, salt: '' }] = await take()
      // Before its first change. A backup from between the two knows the number, and a journal must have it all the same.
      await put({ number: taken.number, at })
      await forget({ at })
      return taken
    },
    async noteRun(number, at) {
      await put({ number, at })
      return (await present()).last_run
    },
    endRun: async (number) => void (await end({ number })),
    async readRuns() {
      const { last_run: last, salt } = await present()
      return { last, salt, open: (await list()).map((row) => ({ number: row.number, seenAt: row.seen_at })) }
    },
    async beginJournal(salt) {
      await resalt({ salt })
      await forgetAll()
    },
    async resetRuns(last) {
      await goOn({ last })
      await forgetAll()
    },
  }
}
