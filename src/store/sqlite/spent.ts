/** Values that may be used once, on SQLite. */
import type { SpentStore } from '../../domain/model/request-store.ts'
import type { Connection } from './connection.ts'

export function createSpentStore(connection: Connection): SpentStore {
  // If this attempt itself inserted the row and only the response was lost, this is not a second use. The attempt's id
  // shows that.
  const spend = connection.prepareWrite(`
    INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash, :kind, :expiresAt, :attemptId)
    ON CONFLICT (hash, kind) DO UPDATE SET attempt_id = excluded.attempt_id WHERE spent.attempt_id = excluded.attempt_id`)
  const find = connection.prepareRead('SELECT 1 FROM spent WHERE hash = ? AND kind = ?')
  return {
    spend: (use) => connection.write(() => (spend.run(use).changes > 0 ? 'spent' : 'spent_before')),
    confirmSpent: async () => undefined,
    readSpent: (kind, hash) => connection.read(() => find.get(hash, kind) !== undefined),
  }
}
