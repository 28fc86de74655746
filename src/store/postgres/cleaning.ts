/** What is over leaves, on PostgreSQL: a few rows at a time, found by an index on when they were over, never by a scan. */
import type { Cleaning, Leaving } from '../../grants/ports.ts'
import type { Connection } from './connection/connection.ts'
import { textArray } from './connection/statement.ts'

/** By which columns a row is named, and by which it is over. */
const OVER: Record<Leaving, { key: readonly string[]; since: string }> = {
  grants: { key: ['id'], since: 'coalesce(ended_at, expires_at)' },
  sessions: { key: ['hash'], since: 'coalesce(ended_at, expires_at)' },
  receipts: { key: ['wallet', 'id'], since: 'expires_at' },
  keys: { key: ['id'], since: 'retired_at' },
  spent: { key: ['hash', 'kind'], since: 'expires_at' },
  pushed_requests: { key: ['id'], since: 'expires_at' },
}

/**
 * Rows are looked for first, and then taken out by name: where tables lie on many machines, each gives its own longest
 * over, and only those that have one take it out. What is over stays over, so nothing can come in between.
 */
function sweeping(connection: Connection, table: Leaving): (of: Parameters<Cleaning['sweep']>[1]) => Promise<number> {
  const { key, since } = OVER[table]
  const find = connection.prepare<Record<string, string>>(
    'read',
    `SELECT ${key.join(', ')} FROM ${table} WHERE ${since} <= :at - :overFor::bigint ORDER BY ${since} LIMIT :limit`,
  )
  const byEach = key.map((each) => `${each} = ANY (:${each}List::text[])`)
  // Where two columns name a row, an index finds by both, and the pair counts.
  const byAll = key.length > 1 ? [`${key.join(` || ' ' || `)} = ANY (:pairList::text[])`] : []
  // Asked again after a lost answer it finds them gone; the next sweep goes on from there.
  const takeOut = connection.prepare('move', `DELETE FROM ${table} WHERE ${[...byEach, ...byAll].join(' AND ')} RETURNING 1`)
  return async ({ overFor, limit, at }) => {
    const found = await find({ overFor, limit, at })
    if (found.length === 0) return 0
    const lists = Object.fromEntries(key.map((each) => [`${each}List`, textArray(found.map((row) => row[each] ?? ''))]))
    const pairList = textArray(found.map((row) => key.map((each) => row[each]).join(' ')))
    return (await takeOut({ ...lists, pairList })).length
  }
}

// What the lease is asked for says when now is, in terms of the row alone: a distributed engine takes no clock there.
const ASKED_AT = '(excluded.expires_at - :lifetime::bigint)'

export function createCleaning(connection: Connection): Cleaning {
  const sweep = {
    grants: sweeping(connection, 'grants'),
    sessions: sweeping(connection, 'sessions'),
    receipts: sweeping(connection, 'receipts'),
    keys: sweeping(connection, 'keys'),
    spent: sweeping(connection, 'spent'),
    pushed_requests: sweeping(connection, 'pushed_requests'),
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
