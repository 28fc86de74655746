/** Values that may be used once, and what ended without a grant, on SQLite. */
import { TOKEN_LIFETIME_AT_MOST } from '../../domain/model/ending-store.ts'
import type { SpentStore } from '../../domain/model/request-store.ts'
import { pack } from '../packed.ts'
import { revokedTokenRow } from '../revoked-token.ts'
import { SPENT_KINDS } from '../spent-kinds.ts'
import type { SqliteConnection } from './connection.ts'

export function createSpentStore(connection: SqliteConnection): SpentStore {
  // If this attempt itself inserted the row and only the response was lost, this is not a second use. The attempt's id
  // shows that.
  const spend = connection.prepareWrite(`
    INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash, :kind, :expiresAt, :attemptId)
    ON CONFLICT (hash, kind) DO UPDATE SET attempt_id = excluded.attempt_id WHERE spent.attempt_id = excluded.attempt_id`)
  const revoke = connection.prepareWrite(`
    INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash, ${SPENT_KINDS.access_token}, :at + ${TOKEN_LIFETIME_AT_MOST}, :attemptId)
    ON CONFLICT (hash, kind) DO UPDATE SET attempt_id = excluded.attempt_id WHERE spent.attempt_id = excluded.attempt_id`)
  const find = connection.prepareRead('SELECT 1 FROM spent WHERE hash = ? AND kind = ?')
  return {
    spend: ({ hash, kind, expiresAt, attemptId }) =>
      connection.write(() => {
        const use = { hash: pack(hash), kind: SPENT_KINDS[kind], expiresAt, attemptId: pack(attemptId) }
        return spend.run(use).changes > 0 ? 'spent' : 'spent_before'
      }),
    revokeClientToken: (token) =>
      connection.write(() => (revoke.run(revokedTokenRow(token)).changes > 0 ? 'spent' : 'spent_before')),
    confirmSpent: async () => undefined,
    readSpent: (kind, hash) => connection.read(() => find.get(pack(hash), SPENT_KINDS[kind]) !== undefined),
  }
}

/** The ending of a client has the same effect if it is stored again. */
const NO_ATTEMPT = pack('')

/** Prepares the change that stores that tokens of a client became inactive. A later ending of the same client renews the time. */
export function endingClients(connection: SqliteConnection): (hash: string, at: number | null) => Promise<void> {
  const end = connection.prepareWrite(`
    INSERT INTO spent (hash, kind, expires_at, attempt_id)
    VALUES (:hash, ${SPENT_KINDS.client}, coalesce(:at, unixepoch()) + ${TOKEN_LIFETIME_AT_MOST}, :attemptId)
    ON CONFLICT (hash, kind) DO UPDATE SET expires_at = excluded.expires_at`)
  return (hash, at) => connection.write(() => void end.run({ hash: pack(hash), at, attemptId: NO_ATTEMPT }))
}
