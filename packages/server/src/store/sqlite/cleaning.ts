/** Deletes expired and ended rows on SQLite. An index on the time of expiry or ending finds them, without a scan. */
import type { CleaningStore, SweptKind } from '../../domain/model/operator-store.ts'
import type { SqliteConnection } from './connection.ts'

const OVER: Record<Exclude<SweptKind, 'endings'>, { key: string; since: string }> = {
  grants: { key: 'id', since: 'coalesce(ended_at, expires_at)' },
  sessions: { key: 'hash', since: 'coalesce(ended_at, expires_at)' },
  receipts: { key: '(wallet, id)', since: 'expires_at' },
  keys: { key: 'id', since: 'retired_at' },
  spent: { key: '(hash, kind)', since: 'expires_at' },
  pushed_requests: { key: 'id', since: 'coalesce(spent_at + 3600, expires_at)' },
  approvals: { key: '(grant_id, id)', since: 'expires_at' },
  audit_writers: { key: 'id', since: 'used_at' },
  nodes: { key: 'id', since: 'at' },
}

export function createCleaning(connection: SqliteConnection): CleaningStore {
  const sweeping = (kind: keyof typeof OVER) => {
    const { key, since } = OVER[kind]
    const columns = key.replace(/[()]/g, '')
    return connection.prepareWrite(`
      DELETE FROM ${kind} WHERE ${key} IN (
        SELECT ${columns} FROM ${kind} WHERE ${since} <= :at - :overFor ORDER BY ${since} LIMIT :limit)`)
  }
  const sweep = {
    grants: sweeping('grants'),
    sessions: sweeping('sessions'),
    receipts: sweeping('receipts'),
    keys: sweeping('keys'),
    spent: sweeping('spent'),
    pushed_requests: sweeping('pushed_requests'),
    approvals: sweeping('approvals'),
    audit_writers: sweeping('audit_writers'),
    nodes: sweeping('nodes'),
    // The newest row stays: SQLite gives a new row the highest number and one, and no number may be used twice. Rows from a time when the clock was
    // ahead are skipped until their time has come. Otherwise a batch of them at the beginning would hold up all others.
    endings: connection.prepareWrite(`
      DELETE FROM endings WHERE seq IN (
        SELECT seq FROM (SELECT seq, at FROM endings WHERE at <= :at ORDER BY seq LIMIT :limit)
        WHERE at <= :at - :overFor AND seq < (SELECT max(seq) FROM endings))`),
  }
  const findDraws = connection.prepareWrite(`
    SELECT coalesce(draw_count, 0) AS draws FROM grants WHERE ${OVER.grants.since} <= :at - :overFor ORDER BY ${OVER.grants.since} LIMIT :limit`)
  /** The draws of a grant are deleted with the grant, by a trigger. A grant of the batch that would pass the limit is the last one. */
  const sweepGrants = (of: Parameters<CleaningStore['sweep']>[1]): number => {
    const due = findDraws.all(of) as { draws: number }[]
    let [grants, rows] = [0, 0]
    for (; grants < due.length && rows < of.limit; grants++) rows += 1 + (due[grants]?.draws ?? 0)
    sweep.grants.run({ ...of, limit: grants })
    return rows
  }
  const take = connection.prepareWrite(`
    INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :at + :lifetime)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
    WHERE leases.holder = excluded.holder OR leases.expires_at <= :at OR leases.expires_at > :at + 2 * :lifetime`)
  return {
    sweep: (kind, of) => connection.write(() => (kind === 'grants' ? sweepGrants(of) : Number(sweep[kind].run(of).changes))),
    takeLease: (name, holder, at, lifetime) =>
      connection.write(() => (take.run({ name, holder, at, lifetime }).changes > 0 ? 'taken' : 'held')),
  }
}
