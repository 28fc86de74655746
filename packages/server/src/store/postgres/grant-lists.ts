/** Grants by wallet and by client on PostgreSQL: listed page by page, and ended together. */

import type { GrantLists } from '../../domain/model/operator-store.ts'
import type { GrantFilter } from '../../domain/model/pages.ts'
import type { EndReason, Grant } from '../../domain/model/records.ts'
import type { GrantStore } from '../../domain/model/request-store.ts'
import { firstOf } from '../first-of.ts'
import { runPaced } from '../paced.ts'
import { GREATEST, LEAST, unpack } from '../packed.ts'
import { changeOfRows, prepareForEach } from './change-of-rows.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'
import { prepareGrantConfirmation } from './grant-statements.ts'
import type { PostgresConnection } from './statements/connection.ts'

// A repeated attempt changes the rows that it ended the first time again, so that it returns them too.
const END = changeOfRows({
  table: 'grants',
  key: ['id'],
  set: 'ended_at = least(ended_at, :at), end_reason = :reason, attempt_id = :attemptId::packed',
  condition: 'grants.ended_at IS NULL OR grants.attempt_id = :attemptId::packed',
  parameters: { reason: 'text', attemptId: 'packed' },
})

const GRANTS = { table: 'grants' } as const

/**
 * As in the indexes `grants_by_wallet` and `grants_by_client`. The expressions differ, because PostgreSQL would otherwise choose the index by client for
 * a wallet that has all its grants at one client.
 */
const IS_UNENDED = '(ended_at IS NULL)::integer = 1'
const IS_ENDED = '(CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END)'

// A cursor before the first row of each order, so that the first page is read by the same statement as every other page.
const FIRST = {
  newest: { clientId: GREATEST, createdAt: Number.MAX_SAFE_INTEGER, id: GREATEST },
  oldest: { createdAt: Number.MIN_SAFE_INTEGER, id: LEAST },
}

const COUNT_ALL = 'SELECT count(*) AS number FROM (SELECT 1 FROM grants LIMIT :mostRows) AS counted'
/** Counting hundreds of millions of rows takes minutes. Autovacuum keeps this number up to date. The parts of a partitioned table are added up. */
const ESTIMATE = `
  SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint AS number,
         EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus
  FROM pg_class WHERE relkind <> 'p' AND (oid = to_regclass(:table)
    OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(:table)))`

const listUnended = (place: string) => `
  SELECT ${COLUMNS} FROM grants WHERE wallet = :wallet::packed AND ${IS_UNENDED} AND ${place}
  ORDER BY client_id DESC, created_at DESC, id DESC LIMIT :limit`
// `(client_id, created_at, id) < …` would be estimated by `client_id` alone: if a wallet has all its grants at one client, PostgreSQL expects no row
// after the first page, and reads and sorts all of them for each page.
const LIST_OF_WALLET = listUnended(`(client_id, created_at) <= (:clientId::packed, :madeAt::bigint)
  AND ((client_id, created_at) < (:clientId::packed, :madeAt::bigint) OR id < :id::packed)`)
const LIST_OF_CLIENT = listUnended('client_id = :clientId::packed AND (created_at, id) < (:madeAt::bigint, :id::packed)')

export function listingGrants(connection: PostgresConnection): GrantLists & Pick<GrantStore, 'listUnendedGrants' | 'endGrants'> {
  const end = prepareForEach<{ id: Uint8Array }>(connection, END)
  const confirm = prepareGrantConfirmation(connection)

  async function list(filter: GrantFilter, isEnded: 0 | 1): Promise<Grant[]> {
    const { wallet, clientId, order = 'newest', limit, after = FIRST[order] } = filter
    const rows = connection.prepare<GrantRow>('read', listOf(filter, isEnded), GRANTS)
    return (await rows({ wallet, clientId, limit, afterMadeAt: after.createdAt, afterId: after.id })).map(grantOf)
  }

  async function endAll(ids: readonly string[], ending: { reason: EndReason; attemptId: string; at: number }): Promise<string[]> {
    const instance = await connection.readInstance()
    const ended = new Set((await end(ids.map((id) => ({ id, ...ending })))).map(({ id }) => unpack(id)))
    await Promise.all(ids.filter((id) => !ended.has(id)).map((grantId) => confirm({ grantId }, instance)))
    return [...ended]
  }

  return {
    async listGrants(filter) {
      const unended = await list(filter, 0)
      if (filter.clientId === undefined || filter.unended) return unended
      // Read last: a grant that ends in between is in both lists, and never in none.
      const ended = await list(filter, 1)
      const newest = (a: Grant, b: Grant): number => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
      return firstOf({ unended, ended }, filter.limit, filter.order === 'oldest' ? (a, b) => newest(b, a) : newest)
    },
    async countUnendedGrants(of, atMost) {
      const unended = 'wallet' in of ? IS_UNENDED : `${IS_ENDED} = 0`
      const rows = `SELECT id FROM grants WHERE ${[...whoseGrants(of), unended].join(' AND ')} LIMIT :atMost`
      const count = connection.prepare<{ number: number }>('read', `SELECT count(*) AS number FROM (${rows}) AS unended`, GRANTS)
      return (await count({ ...of, atMost }))[0]?.number ?? 0
    },
    async countGrants(atMost) {
      const countAll = connection.prepare<{ number: number }>('read', COUNT_ALL, GRANTS)
      const estimateHere = connection.prepare<{ number: number }>('read', ESTIMATE)
      const number = (await countAll({ mostRows: atMost + 1 }))[0]?.number ?? 0
      if (number <= atMost) return { number, kind: 'exact' }
      const estimate = (await connection.placement.estimateRows(GRANTS.table)) ?? (await estimateHere(GRANTS))[0]?.number ?? 0
      // The estimate of a table that was never analysed is 0.
      return estimate > atMost ? { number: estimate, kind: 'estimate' } : { number: atMost, kind: 'at_least' }
    },
    async listUnendedGrants({ wallet, clientId, limit, after = FIRST.newest }) {
      const sql = clientId === undefined ? LIST_OF_WALLET : LIST_OF_CLIENT
      const named = { wallet, clientId: clientId ?? after.clientId, madeAt: after.createdAt, id: after.id, limit }
      return (await connection.prepare<GrantRow>('read', sql, GRANTS)(named)).map(grantOf)
    },
    endGrants: (ids, ending) => runPaced(ids.length, () => endAll(ids, ending)),
  }
}

/** The conditions of the filter and no others, so that PostgreSQL uses the index of a wallet or of a client. */
function whoseGrants({ wallet, clientId }: { wallet?: string | undefined; clientId?: string | undefined }): string[] {
  return [
    ...(wallet === undefined ? [] : ['wallet = :wallet::packed']),
    ...(clientId === undefined ? [] : ['client_id = :clientId::packed']),
  ]
}

/**
 * The lists of a wallet and of a client are sorted by creation time, because PostgreSQL would read the order of ids from the primary key,
 * and skip the grants of all others. The list of a wallet contains both, ended or not: all rows of the wallet are read and sorted, as many as it has
 * signed in within the time that ended rows are kept. Only operators read this list.
 */
function listOf({ wallet, clientId, order = 'newest' }: GrantFilter, isEnded: 0 | 1): string {
  const owner = whoseGrants({ wallet, clientId })
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  const [place, by] =
    owner.length === 0
      ? [`id ${beyond} :afterId::packed`, `id ${direction}`]
      : [`(created_at, id) ${beyond} (:afterMadeAt::bigint, :afterId::packed)`, `created_at ${direction}, id ${direction}`]
  const all = [...owner, ...(clientId === undefined ? [] : [`${IS_ENDED} = ${isEnded}`]), place]
  return `SELECT ${COLUMNS} FROM grants WHERE ${all.join(' AND ')} ORDER BY ${by} LIMIT :limit`
}
