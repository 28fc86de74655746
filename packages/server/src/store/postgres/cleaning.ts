/** Deletes expired rows on PostgreSQL, by ranges of the index on the time at which they expired. */
import type { CleaningStore, SweptKind } from '../../domain/model/operator-store.ts'
import { unpack } from '../packed.ts'
import type { PostgresConnection } from './statements/connection.ts'

type SweptTable = Exclude<SweptKind, 'endings'>

/** The time at which a row expired or ended. */
const OVER: Record<SweptTable, string> = {
  grants: 'coalesce(ended_at, expires_at)',
  sessions: 'coalesce(ended_at, expires_at)',
  receipts: 'expires_at',
  keys: 'retired_at',
  spent: 'expires_at',
  pushed_requests: 'coalesce(spent_at + 3600, expires_at)',
  approvals: 'expires_at',
  audit_writers: 'used_at',
  nodes: 'at',
}

/**
 * The first statement finds a range of seconds, and the second deletes the rows of that range. Deleting a range is six times as fast as
 * deleting by keys (docs/decisions/0014-upkeep-of-the-store.md), and on Citus each machine deletes its own rows. An expired row stays expired, so
 * nothing changes between the two statements.
 */
function prepareSweep(
  connection: PostgresConnection,
  table: Exclude<SweptTable, 'grants'>,
): (of: Parameters<CleaningStore['sweep']>[1]) => Promise<number> {
  const find = connection.prepare<{ first: number; last: number }>(
    'read',
    `SELECT min(over_since) AS first, max(over_since) AS last FROM (
       SELECT ${OVER[table]} AS over_since FROM ${table} WHERE ${OVER[table]} <= :at - :overFor::bigint
       ORDER BY ${OVER[table]} LIMIT :limit) AS due HAVING count(*) > 0`,
    { table },
  )
  const remove = connection.prepare<{ rows: number }>(
    'move',
    `WITH removed AS (DELETE FROM ${table} WHERE ${OVER[table]} BETWEEN :first::bigint AND :last::bigint RETURNING 1)
     SELECT count(*)::integer AS rows FROM removed`,
    { table },
  )
  return async ({ overFor, limit, at }) => {
    const [range] = await find({ overFor, limit, at })
    if (!range) return 0
    const [removed] = await remove(range)
    return removed?.rows ?? 0
  }
}

type DueGrants = { first: number; last: number; drawn: [string, number][] | null }

/** As `prepareSweep`, for grants: those with draws are deleted by their ids, with the rows of their draws, until one of them passes the limit. */
function prepareSweepOfGrants(connection: PostgresConnection): (of: Parameters<CleaningStore['sweep']>[1]) => Promise<number> {
  const over = OVER.grants
  const place = { table: 'grants' }
  const find = connection.prepare<DueGrants>(
    'read',
    `SELECT min(over_since) AS first, max(over_since) AS last,
            jsonb_agg(jsonb_build_array(encode(id, 'hex'), draw_count) ORDER BY over_since) FILTER (WHERE draw_count > 0) AS drawn FROM (
       SELECT id, draw_count, ${over} AS over_since FROM grants WHERE ${over} <= :at - :overFor::bigint
       ORDER BY ${over} LIMIT :limit) AS due HAVING count(*) > 0`,
    place,
  )
  const remove = connection.prepare<{ rows: number }>(
    'move',
    `WITH removed AS (DELETE FROM grants WHERE ${over} BETWEEN :first::bigint AND :last::bigint AND draw_count IS NULL RETURNING 1)
     SELECT count(*)::integer AS rows FROM removed`,
    place,
  )
  const removeDrawn = connection.prepare<{ rows: number }>(
    'move',
    `WITH removed AS (DELETE FROM grants WHERE id = ANY (:ids::packed[]) RETURNING 1),
       removed_draws AS (DELETE FROM draws WHERE grant_id = ANY (:ids::packed[]) RETURNING 1)
     SELECT ((SELECT count(*) FROM removed) + (SELECT count(*) FROM removed_draws))::integer AS rows`,
    place,
  )
  return async ({ overFor, limit, at }) => {
    const [due] = await find({ overFor, limit, at })
    if (!due) return 0
    const [removed] = await remove({ first: due.first, last: due.last })
    const ids: string[] = []
    let drawn = 0
    for (const [id, draws] of due.drawn ?? []) {
      if (drawn >= limit) break
      ids.push(unpack(Buffer.from(id, 'hex')))
      drawn += 1 + draws
    }
    const [removedDrawn] = ids.length > 0 ? await removeDrawn({ ids }) : []
    return (removed?.rows ?? 0) + (removedDrawn?.rows ?? 0)
  }
}

// The present time, computed from the row that is inserted: Citus does not allow a clock in ON CONFLICT.
const ASKED_AT = '(excluded.expires_at - :lifetime::bigint)'

export function createCleaning(connection: PostgresConnection): CleaningStore {
  const sweep = {
    grants: prepareSweepOfGrants(connection),
    sessions: prepareSweep(connection, 'sessions'),
    receipts: prepareSweep(connection, 'receipts'),
    keys: prepareSweep(connection, 'keys'),
    spent: prepareSweep(connection, 'spent'),
    pushed_requests: prepareSweep(connection, 'pushed_requests'),
    approvals: prepareSweep(connection, 'approvals'),
    audit_writers: prepareSweep(connection, 'audit_writers'),
    nodes: prepareSweep(connection, 'nodes'),
    endings: () => Promise.resolve(0),
  }
  const take = connection.prepare(
    'move',
    `INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :at + :lifetime::bigint)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
     WHERE leases.holder = excluded.holder OR leases.expires_at <= ${ASKED_AT}
        OR leases.expires_at > ${ASKED_AT} + 2 * :lifetime::bigint
     RETURNING name`,
  )
  return {
    sweep: (kind, of) => sweep[kind](of),
    takeLease: async (name, holder, at, lifetime) => ((await take({ name, holder, at, lifetime })).length > 0 ? 'taken' : 'held'),
  }
}
