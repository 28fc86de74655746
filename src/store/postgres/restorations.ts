/** Restorations on PostgreSQL: what a backup brought back is ended, batch by batch, and one row tells whether it was confirmed. */
import type { Restoration, RestorationBook } from '../../grants/ports.ts'
import type { Ask, Connection } from './connection/connection.ts'

type RestorationRow = { number: number; begun_at: number; confirmed_at: number | null }
type Batch = { ended: number; seen: number; last: string[] | null }

/** How many rows one statement goes through. */
const BATCH = 500

/** Goes through a table by its own key, from the row after `:after1` (and `:after2`) on. */
function endBatch(table: 'grants' | 'sessions' | 'receipts', keys: string[], end: string, living: string): string {
  const [key, after] = [keys.join(', '), keys.map((_, index) => `:after${index + 1}`).join(', ')]
  return `
    WITH next AS MATERIALIZED (SELECT ${key} FROM ${table} WHERE (${key}) > (${after}) ORDER BY ${key} LIMIT ${BATCH}),
    ended AS (
      UPDATE ${table} SET ${end} FROM next
      WHERE ${keys.map((each) => `${table}.${each} = next.${each}`).join(' AND ')} AND ${table}.${living} IS NULL
      RETURNING 1)
    SELECT (SELECT count(*) FROM ended)::integer AS ended, (SELECT count(*) FROM next)::integer AS seen,
           (SELECT jsonb_build_array(${key}) FROM next ORDER BY ${keys.map((each) => `${each} DESC`).join(', ')} LIMIT 1) AS last`
}

export function createRestorationBook(connection: Connection): RestorationBook {
  const begin = connection.prepare<RestorationRow>(
    'move',
    'INSERT INTO restorations (begun_at) VALUES (:at) RETURNING number, begun_at, confirmed_at',
  )
  const read = connection.prepare<RestorationRow>(
    'read',
    'SELECT number, begun_at, confirmed_at FROM restorations ORDER BY number DESC LIMIT 1',
  )
  const confirm = connection.prepare(
    'move',
    'UPDATE restorations SET confirmed_at = :at WHERE number = :number AND confirmed_at IS NULL',
  )
  const grants = connection.prepare<Batch>(
    'move',
    endBatch('grants', ['id'], "ended_at = :at, end_reason = 'restored'", 'ended_at'),
  )
  const sessions = connection.prepare<Batch>('move', endBatch('sessions', ['hash'], 'ended_at = :at', 'ended_at'))
  const receipts = connection.prepare<Batch>('move', endBatch('receipts', ['wallet', 'id'], 'withdrawn_at = :at', 'withdrawn_at'))

  async function endAll(ask: Ask<Batch>, at: number): Promise<number> {
    let ended = 0
    for (let [after1, after2]: string[] = ['', '']; ; ) {
      const [batch] = await ask({ at, after1, after2 })
      ended += batch?.ended ?? 0
      if (!batch || batch.seen < BATCH) return ended
      ;[after1, after2 = ''] = batch.last ?? []
    }
  }

  return {
    async beginRestoration(at) {
      const [row] = await begin({ at })
      return restorationOf(row as RestorationRow)
    },
    async readRestoration() {
      const [row] = await read()
      return row ? restorationOf(row) : null
    },
    endEverything: async (at) => ({
      grants: await endAll(grants, at),
      sessions: await endAll(sessions, at),
      receipts: await endAll(receipts, at),
    }),
    confirmRestoration: async (number, at) => void (await confirm({ number, at })),
  }
}

function restorationOf(row: RestorationRow): Restoration {
  return { number: row.number, begunAt: row.begun_at, confirmedAt: row.confirmed_at }
}
