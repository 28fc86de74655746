/** What is over leaves, on PostgreSQL: a few rows a statement, found by an index on when they were over, never by a scan. */
import type { Cleaning, Leaving } from '../../grants/ports.ts'
import type { Connection } from './connection.ts'

// In a query of its own the moment is found once: the clock itself could not be looked up in an index.
const BY_THEN = '(SELECT :at - :overFor::bigint)'

/** Asked again after a lost answer it takes out some more, which is what comes next anyway. */
function byKey(table: Leaving, key: string, since: string): string {
  return `
    DELETE FROM ${table} WHERE ${key} = ANY (ARRAY(
      SELECT ${key} FROM ${table} WHERE ${since} <= ${BY_THEN} ORDER BY ${since} LIMIT :limit))
    RETURNING ${key}`
}

export function createCleaning(connection: Connection): Cleaning {
  const sweep = {
    grants: connection.prepare('move', byKey('grants', 'id', 'coalesce(ended_at, expires_at)')),
    sessions: connection.prepare('move', byKey('sessions', 'hash', 'coalesce(ended_at, expires_at)')),
    receipts: connection.prepare(
      'move',
      `DELETE FROM receipts USING unnest(
         ARRAY(SELECT wallet FROM receipts WHERE expires_at <= ${BY_THEN} ORDER BY expires_at, wallet, id LIMIT :limit),
         ARRAY(SELECT id FROM receipts WHERE expires_at <= ${BY_THEN} ORDER BY expires_at, wallet, id LIMIT :limit)
       ) AS over (wallet, id)
       WHERE receipts.wallet = over.wallet AND receipts.id = over.id
       RETURNING receipts.id`,
    ),
    keys: connection.prepare('move', byKey('keys', 'id', 'retired_at')),
  }
  const take = connection.prepare(
    'move',
    `INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :at + :lifetime::bigint)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
     WHERE leases.holder = excluded.holder OR leases.expires_at <= :at OR leases.expires_at > :at + 2 * :lifetime::bigint
     RETURNING name`,
  )
  return {
    sweep: async (kind, of) => (await sweep[kind](of)).length,
    takeLease: async (name, holder, at, lifetime) => ((await take({ name, holder, at, lifetime })).length > 0 ? 'taken' : 'held'),
  }
}
