/** Values that may be used once, on PostgreSQL. */
import type { SpentStore } from '../../domain/model/request-store.ts'
import type { Connection } from './connection/connection.ts'

const USE = { table: 'spent', key: 'hash' } as const

export function createSpentStore(connection: Connection): SpentStore {
  // An attempt that is repeated after a lost answer finds its own row by the attempt id, and does not count as a second use. A use that was
  // spent before is locked by the statement, so its commit waits for a synchronous standby too.
  const spend = connection.prepare(
    'move',
    `INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash, :kind, :expiresAt, :attemptId)
     ON CONFLICT (hash, kind) DO UPDATE SET attempt_id = excluded.attempt_id WHERE spent.attempt_id = excluded.attempt_id
     RETURNING hash`,
    USE,
  )
  const confirm = connection.prepareConfirmation('spent WHERE hash = :hash', USE)
  const find = connection.prepare('read', 'SELECT hash FROM spent WHERE hash = :hash AND kind = :kind', USE)
  return {
    spend: async (use) => ((await spend(use)).length > 0 ? 'spent' : 'spent_before'),
    confirmSpent: (hash) => confirm({ hash }),
    readSpent: async (kind, hash) => (await find({ kind, hash })).length > 0,
  }
}
