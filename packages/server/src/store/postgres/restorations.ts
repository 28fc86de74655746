/** Restorations on PostgreSQL: everything that a backup restored is ended, page by page. One row records whether that was confirmed. */
import type { Restoration, RestorationStore } from '../../domain/model/operator-store.ts'
import { LEAST, unpack } from '../packed.ts'
import { endsOfAddresses, WITH_ENDS, walletsWithEnds } from '../wallet-search.ts'
import { changeOfRows, prepareForEach } from './change-of-rows.ts'
import { prepareRecordConfirmation } from './revision.ts'
import type { PostgresConnection } from './statements/connection.ts'

/** null unless the server was promoted or recovered since its start. */
const REPLAY_END = `
  SELECT CASE WHEN NOT pg_is_in_recovery() THEN floor(extract(epoch FROM pg_last_xact_replay_timestamp()))::bigint END AS at`

type RestorationRow = { number: number; begun_at: number; confirmed_at: number | null }
/** How many rows are read and ended at a time. */
const PAGE = 500

type EndedTable = { table: 'grants' | 'sessions' | 'receipts'; key: readonly string[]; end: string; living: string }
type KeyRow = Record<string, Uint8Array> & { living: boolean }

/** Returns a function that reads a table in the order of its key, ends every active row, and returns how many rows it ended. */
function endingAll(
  connection: PostgresConnection,
  { table, key, end, living }: EndedTable,
): (now: () => number) => Promise<number> {
  const columns = key.join(', ')
  const after = key.map((column) => `:${column}::packed`).join(', ')
  const keyOf = (row: KeyRow) => Object.fromEntries(key.map((column) => [column, unpack(row[column] ?? LEAST)]))
  const read = connection.prepare<KeyRow>(
    'read',
    `SELECT ${columns}, ${living} IS NULL AS living FROM ${table}
     WHERE (${columns}) > (${after}) ORDER BY ${columns} LIMIT ${PAGE}`,
    { table },
  )
  const endEach = prepareForEach(connection, changeOfRows({ table, key, set: end, condition: `${table}.${living} IS NULL` }))
  return async (now) => {
    let ended = 0
    for (let last: Record<string, string | Uint8Array> = Object.fromEntries(key.map((column) => [column, LEAST])); ; ) {
      const rows = await read(last)
      const at = now()
      const unended = rows.filter((row) => row.living).map((row) => ({ ...keyOf(row), at }))
      if (unended.length > 0) ended += (await endEach(unended)).length
      if (rows.length < PAGE) return ended
      last = keyOf(rows.at(-1) as KeyRow)
    }
  }
}

export function createRestorationStore(connection: PostgresConnection): RestorationStore {
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
    'UPDATE restorations SET confirmed_at = :at WHERE number = :number AND confirmed_at IS NULL RETURNING number',
  )
  const confirmFound = prepareRecordConfirmation(connection)
  const endGrants = endingAll(connection, {
    table: 'grants',
    key: ['id'],
    end: "ended_at = :at, end_reason = 'restored'",
    living: 'ended_at',
  })
  const endSessions = endingAll(connection, { table: 'sessions', key: ['hash'], end: 'ended_at = :at', living: 'ended_at' })
  const withdrawReceipts = endingAll(connection, {
    table: 'receipts',
    key: ['wallet', 'id'],
    end: 'withdrawn_at = :at',
    living: 'withdrawn_at',
  })

  return {
    ...findingLosses(connection),
    async beginRestoration(at) {
      const [row] = await begin({ at })
      return restorationOf(row as RestorationRow)
    },
    async readRestoration() {
      const [row] = await read()
      return row ? restorationOf(row) : null
    },
    async endEverything(now) {
      const instance = await connection.readInstance()
      const ended = { grants: await endGrants(now), sessions: await endSessions(now), receipts: await withdrawReceipts(now) }
      await connection.confirm(instance)
      return ended
    },
    async confirmRestoration(number, at) {
      if ((await confirm({ number, at })).length === 0) await confirmFound()
    },
  }
}

function findingLosses(connection: PostgresConnection): Pick<RestorationStore, 'findShortened' | 'readReplayEnd'> {
  const searches = WITH_ENDS.map(({ table, rows }) =>
    connection.prepare<{ wallet: Uint8Array }>('read', `SELECT DISTINCT wallet FROM ${rows}`, { table }),
  )
  return {
    async findShortened(shortened) {
      const reads = endsOfAddresses(shortened).flatMap((ends) => searches.map((search) => search(ends)))
      return walletsWithEnds(shortened, (await Promise.all(reads)).flat())
    },
    async readReplayEnd() {
      const [here] = await connection.query<{ at: number | null }>(REPLAY_END)
      const replies = await connection.placement.askEveryMachine(REPLAY_END)
      const times = [here?.at, ...replies.map(({ success, result }) => (success && result ? Number(result) : null))]
      const known = times.filter((at) => typeof at === 'number')
      return known.length === 0 ? null : Math.min(...known)
    },
  }
}

function restorationOf(row: RestorationRow): Restoration {
  return { number: row.number, begunAt: row.begun_at, confirmedAt: row.confirmed_at }
}
