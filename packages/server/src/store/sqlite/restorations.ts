/**
 * Restorations on SQLite: everything in a restored backup is ended, in batches, and one row records whether the
 * restoration was confirmed.
 */
import type { Restoration, RestorationStore } from '../../domain/model/operator-store.ts'
import { LEAST } from '../packed.ts'
import { endsOfAddresses, WITH_ENDS, walletsWithEnds } from '../wallet-search.ts'
import type { SqliteConnection } from './connection.ts'

type RestorationRow = { number: number; begun_at: number; confirmed_at: number | null }

/** The number of rows of one batch. */
const BATCH = 500

export function createRestorationStore(connection: SqliteConnection): RestorationStore {
  const begin = connection.prepareWrite('INSERT INTO restorations (begun_at) VALUES (?) RETURNING number, begun_at, confirmed_at')
  const confirm = connection.prepareWrite(
    'UPDATE restorations SET confirmed_at = :at WHERE number = :number AND confirmed_at IS NULL',
  )
  const read = connection.prepareRead('SELECT number, begun_at, confirmed_at FROM restorations ORDER BY number DESC LIMIT 1')

  const everything = {
    grants: { keys: ['id'], end: "ended_at = ?, end_reason = 'restored'", living: 'ended_at IS NULL' },
    sessions: { keys: ['hash'], end: 'ended_at = ?', living: 'ended_at IS NULL' },
    receipts: { keys: ['wallet', 'id'], end: 'withdrawn_at = ?', living: 'withdrawn_at IS NULL' },
  }

  /** Goes through a table by its primary key, so that each row is read once. Returns how many rows ended. */
  async function endAll(table: keyof typeof everything, now: () => number): Promise<number> {
    const { keys, end, living } = everything[table]
    const [key, marks] = [`(${keys.join(', ')})`, `(${keys.map(() => '?').join(', ')})`]
    const next = connection.prepareWrite(
      `SELECT ${keys.join(', ')} FROM ${table} WHERE ${key} > ${marks} ORDER BY ${keys.join(', ')} LIMIT ${BATCH}`,
    )
    const endOne = connection.prepareWrite(`UPDATE ${table} SET ${end} WHERE ${key} = ${marks} AND ${living}`)
    const endBatch = (after: Uint8Array[]) =>
      connection.write(() => {
        const rows = next.all(...after).map((row) => Object.values(row) as Uint8Array[])
        const at = now()
        const changes = rows.map((row) => Number(endOne.run(at, ...row).changes))
        return { ended: changes.reduce((sum, each) => sum + each, 0), last: rows.at(BATCH - 1) }
      })
    let ended = 0
    for (let after: Uint8Array[] | undefined = keys.map(() => LEAST); after !== undefined; ) {
      const batch = await endBatch(after)
      ended += batch.ended
      after = batch.last
    }
    return ended
  }

  return {
    beginRestoration: (at) => connection.write(() => restorationOf(begin.get(at) as RestorationRow)),
    readRestoration: () =>
      connection.read(() => {
        const row = read.get()
        return row ? restorationOf(row as RestorationRow) : null
      }),
    async endEverything(now) {
      return {
        grants: await endAll('grants', now),
        sessions: await endAll('sessions', now),
        receipts: await endAll('receipts', now),
      }
    },
    findShortened: prepareSearch(connection),
    readReplayEnd: async () => null,
    confirmRestoration: (number, at) => connection.write(() => void confirm.run({ number, at })),
  }
}

function prepareSearch(connection: SqliteConnection): RestorationStore['findShortened'] {
  const selects = WITH_ENDS.map(({ rows }) => `SELECT wallet FROM ${rows}`)
  const search = connection.prepareRead(selects.join(' UNION '))
  return (shortened) =>
    connection.read(() => {
      const rows = endsOfAddresses(shortened).flatMap((ends) => search.all(ends) as { wallet: Uint8Array }[])
      return walletsWithEnds(shortened, rows)
    })
}

function restorationOf(row: RestorationRow): Restoration {
  return { number: row.number, begunAt: row.begun_at, confirmedAt: row.confirmed_at }
}
