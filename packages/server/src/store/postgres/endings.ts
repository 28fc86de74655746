/**
 * The endings on PostgreSQL. An ending writes nothing more than its row: a read finds the rows by the time of their ending, in indexes.
 * `ending-history.ts` decides how far back a read must begin, so that no ending is skipped.
 */
import { createHash } from 'node:crypto'
import { type Ending, type EndingPlace, type EndingStore, TOKEN_LIFETIME_AT_MOST } from '../../domain/model/ending-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { readList } from '../list-text.ts'
import { unpack } from '../packed.ts'
import { readRevokedToken } from '../revoked-token.ts'
import { SPENT_KINDS } from '../spent-kinds.ts'
import { beginOfScan, type History, scannedRows, type TransactionSnapshot, withSnapshot } from './ending-history.ts'
import type { Reply } from './placement.ts'
import type { PostgresConnection } from './statements/connection.ts'

/**
 * `age` is the distance from an id to the next one that will be assigned. `xmax` of a snapshot may be lower than that: it follows the last
 * transaction that has finished. A standby does not show which transactions its primary has acknowledged.
 */
const SNAPSHOT = `
  SELECT pg_current_snapshot()::text AS snapshot, age(pg_snapshot_xmax(pg_current_snapshot())::xid) AS ahead,
         floor(extract(epoch FROM now()))::bigint AS clock, pg_postmaster_start_time()::text AS started,
         pg_is_in_recovery() AS in_recovery`
const SNAPSHOT_HERE = `SELECT snapshot_row.*, :at AS at FROM (${SNAPSHOT}) AS snapshot_row`
/** Sent to each machine of a cluster. */
export const SNAPSHOT_AS_JSON = `SELECT row_to_json(snapshot_row) FROM (${SNAPSHOT}) AS snapshot_row`

type SnapshotRow = { snapshot: string; ahead: number; clock: number; started: string; in_recovery: boolean }

/** An ending may be later than the clock that was read, by the seconds by which the clock was set back since. */
const LATER_BY_AT_MOST = 60

/** The tables in which a read finds endings. */
type Source = 'grants' | 'spent'
/** The last row that was read. */
type Cursor = { first: number; after: string }

/** What was read before (`scannedRows`). `oldest` has 32 bits, as `xmin` has. */
type ScannedRows = { seen: number; oldest: string }
/** No row was scanned. The age of the id 0 is the highest one. */
const NO_ROWS: ScannedRows = { seen: 0, oldest: '0' }

type Scan = { last: number; scanned: ScannedRows; remaining: Partial<Record<Source, Cursor>> }
/** `histories`: of each machine, after the last scan. `scan`: the pages of the present scan that were not read yet. */
type FeedPosition = EndingPlace & { histories: Record<string, History>; scan: Scan | null }

type EndingsPage = { endings: Ending[]; next: Cursor | null }
type ReadPage = (of: Cursor & ScannedRows & { last: number; limit: number }, server: string) => Promise<EndingsPage>

/** `start`: the time from which a scan reads; a test shows that another rule skips endings. */
export function createEndingStore(connection: PostgresConnection, start = beginOfScan): EndingStore {
  const snapshotHere = connection.prepare<SnapshotRow & { at: number }>('read', SNAPSHOT_HERE)
  const sources: Record<Source, ReadPage> = {
    grants: readingGrants(connection),
    spent: readingSpent(connection),
  }

  /** Reads the transactions of the server, or of each machine of the cluster. `server` is the one of this connection. */
  async function readSnapshots(given: number): Promise<MachineSnapshots> {
    const [here] = await snapshotHere({ at: given })
    if (!here) throw new StoreUnavailable('PostgreSQL did not report its transactions')
    const replies = await connection.placement.askEveryMachine(SNAPSHOT_AS_JSON)
    const machines = replies.length > 0 ? replies.map(snapshotOf) : [{ name: '', row: here }]
    if (machines.some(({ row }) => row.in_recovery)) throw new StoreUnavailable('a standby does not have the order of commits')
    // The time of an ending is that of the machine that a node is connected to. So it is at least that of the slowest clock.
    const clocks = machines.map(({ row }) => here.at + row.clock - here.clock)
    const at = Math.min(here.at, ...clocks)
    return {
      server: here.started,
      instance: hashOf(machines.map(({ name, row }) => `${name} ${row.started}`)),
      earliest: at,
      latest: Math.max(here.at, ...clocks),
      begunBefore: connection.placement.begunBefore,
      machines: machines.map(({ name, row }) => [name, transactionsOf(row, at)]),
    }
  }

  return {
    async readEndings(before, { within, limit, at }) {
      const snapshots = await readSnapshots(at)
      const position = before?.instance === snapshots.instance ? (before as FeedPosition) : null
      const { scan, histories } = position?.scan
        ? { ...position, scan: position.scan }
        : beginScan(position, snapshots, within, start)
      const { last, scanned, remaining } = scan
      const pages = await Promise.all(
        (Object.entries(remaining) as [Source, Cursor][]).map(async ([source, after]) => {
          return { source, ...(await sources[source]({ ...after, ...scanned, last, limit }, snapshots.server)) }
        }),
      )
      const stillRemaining = pages.flatMap(({ source, next }) => (next ? [[source, next] as const] : []))
      const hasMore = stillRemaining.length > 0
      const next: FeedPosition = {
        instance: snapshots.instance,
        histories,
        scan: hasMore ? { last, scanned, remaining: Object.fromEntries(stillRemaining) } : null,
      }
      return { endings: pages.flatMap(({ endings }) => endings), place: next, hasMore }
    },
  }
}

type MachineSnapshots = {
  server: string
  instance: string
  earliest: number
  latest: number
  begunBefore: number
  machines: [string, TransactionSnapshot][]
}

function beginScan(
  position: FeedPosition | null,
  { earliest, latest, begunBefore, machines }: MachineSnapshots,
  within: number,
  start: typeof beginOfScan,
): { scan: Scan; histories: FeedPosition['histories'] } {
  const starts = machines.map(([name, snapshot]) => {
    const history = position?.histories[name]
    return history ? start(history, snapshot) : null
  })
  const from = starts.map((begin) => (begin === null ? earliest - within : begin - begunBefore))
  const first = Math.max(earliest - within, Math.min(...from))
  const histories = Object.fromEntries(
    machines.map(([name, snapshot]) => [name, withSnapshot(position?.histories[name] ?? null, snapshot, within)]),
  )
  const after = { first, after: '' }
  const scanned = position && !starts.includes(null) ? scannedBy(position) : NO_ROWS
  return { scan: { last: latest + LATER_BY_AT_MOST, scanned, remaining: { grants: after, spent: after } }, histories }
}

/** On Citus each machine has ids of its own, so no row counts as scanned. */
function scannedBy({ histories }: FeedPosition): ScannedRows {
  const [history, ...others] = Object.values(histories)
  if (!history || others.length > 0) return NO_ROWS
  const { seen, oldest } = scannedRows(history)
  return { seen, oldest: String(oldest % 2 ** 32) }
}

// A scan begins seconds before the last one has ended, so most of its rows were scanned before. With 1,000 endings a second, a read returns a third.
const isNotScanned = (time: string) => `(${time} > :seen::bigint OR age(xmin) <= age(:oldest::text::xid))`

function snapshotOf({ host, port, success, result }: Reply): { name: string; row: SnapshotRow } {
  const name = `${host}:${port}`
  if (!success) throw new StoreUnavailable(`the machine ${name} did not report its transactions`)
  return { name, row: JSON.parse(result) as SnapshotRow }
}

/** A snapshot is `xmin:xmax:` and the ids of the running transactions, in order. */
function transactionsOf({ snapshot, ahead }: SnapshotRow, at: number): TransactionSnapshot {
  const [, end = '', list = ''] = snapshot.split(':')
  const xmax = Number(end)
  return { at, next: xmax + ahead, xmax, running: list === '' ? [] : list.split(',').map(Number) }
}

function hashOf(texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\n')).digest('base64url')
}

type EndedGrantRow = { id: Uint8Array; client_id: Uint8Array; resources: string }

// Also finds the grants that expire soon, by the same index, and skips them.
function readingGrants(connection: PostgresConnection): ReadPage {
  const read = connection.prepare<EndedGrantRow & { ended_at: number }>(
    'read',
    `SELECT id, client_id, resources, ended_at FROM grants
     WHERE (coalesce(ended_at, expires_at), id) > (:first::bigint, :after::packed) AND coalesce(ended_at, expires_at) <= :last::bigint
       AND ended_at IS NOT NULL AND ${isNotScanned('ended_at')}
     ORDER BY coalesce(ended_at, expires_at), id LIMIT :limit`,
    { table: 'grants' },
  )
  return async (of, server) => {
    const rows = await read(of, undefined, server)
    return {
      endings: rows.map(({ id, client_id: clientId, resources, ended_at: at }) => ({
        kind: 'grant',
        grantId: unpack(id),
        clientId: unpack(clientId),
        resources: readList(resources),
        at,
      })),
      next: nextOf(rows, of.limit, ({ id, ended_at: first }) => ({ first, after: unpack(id) })),
    }
  }
}

/** `attempt_id` of a revoked token of a grant is the id of the grant. */
type SpentRow = { hash: Uint8Array; kind: number; expires_at: number; attempt_id: Uint8Array }

function readingSpent(connection: PostgresConnection): ReadPage {
  const read = connection.prepare<SpentRow>(
    'read',
    `SELECT hash, kind, expires_at, attempt_id FROM spent
     WHERE (expires_at, hash) > (:first::bigint, :after::packed) AND expires_at <= :last::bigint
       AND kind IN (${SPENT_KINDS.access_token}, ${SPENT_KINDS.client}, ${SPENT_KINDS.token}) AND ${isNotScanned('expires_at')}
     ORDER BY expires_at, hash LIMIT :limit`,
    { table: 'spent' },
  )
  const readGrants = connection.prepare<EndedGrantRow>(
    'read',
    'SELECT id, client_id, resources FROM grants WHERE id = ANY (:ids::packed[])',
    { table: 'grants' },
  )
  return async (of, server) => {
    const [first, last, seen] = [of.first, of.last, of.seen].map((time) => time + TOKEN_LIFETIME_AT_MOST)
    const rows = await read({ ...of, first, last, seen }, undefined, server)
    const ids = rows.flatMap(({ kind, attempt_id: id }) => (kind === SPENT_KINDS.token ? [unpack(id)] : []))
    const grants = ids.length === 0 ? [] : await readGrants({ ids: [...new Set(ids)] }, undefined, server)
    const grantsById = new Map(grants.map((grant) => [unpack(grant.id), grant]))
    return {
      endings: rows.flatMap((row) => endingsOf(row, grantsById)),
      next: nextOf(rows, of.limit, ({ hash, expires_at: expiry }) => ({
        first: expiry - TOKEN_LIFETIME_AT_MOST,
        after: unpack(hash),
      })),
    }
  }
}

function endingsOf(
  { hash: packed, kind, expires_at: expiry, attempt_id: attempt }: SpentRow,
  grants: Map<string, EndedGrantRow>,
): Ending[] {
  const at = expiry - TOKEN_LIFETIME_AT_MOST
  const hash = unpack(packed)
  if (kind === SPENT_KINDS.client) return [{ kind: 'client', hash, at }]
  if (kind === SPENT_KINDS.access_token) return [{ kind: 'client_token', hash, ...readRevokedToken(attempt), at }]
  // A grant is deleted long after its last token has expired.
  const grant = grants.get(unpack(attempt))
  return grant ? [{ kind: 'token', jti: hash, clientId: unpack(grant.client_id), resources: readList(grant.resources), at }] : []
}

/** A page with fewer rows than the limit is the last one. */
function nextOf<Row>(rows: readonly Row[], limit: number, cursorOf: (row: Row) => Cursor): Cursor | null {
  const last = rows.at(-1)
  return last && rows.length === limit ? cursorOf(last) : null
}
