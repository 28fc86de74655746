/** Values that may be used once, and what ended without a grant, on PostgreSQL. */
import { TOKEN_LIFETIME_AT_MOST } from '../../domain/model/ending-store.ts'
import type { SpentStore } from '../../domain/model/request-store.ts'
import { revokedTokenRow } from '../revoked-token.ts'
import { SPENT_KINDS } from '../spent-kinds.ts'
import type { PostgresConnection } from './statements/connection.ts'

const USE = { table: 'spent', key: 'hash' } as const

export function createSpentStore(connection: PostgresConnection): SpentStore {
  // An attempt that is repeated after a lost response finds its own row by the attempt id, and does not count as a second use. A use that was
  // spent before is locked by the statement, so its commit waits for a synchronous standby too.
  const spend = connection.prepare(
    'move',
    `INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash::packed, :kind, :expiresAt, :attemptId::packed)
     ON CONFLICT (hash, kind) DO UPDATE SET attempt_id = excluded.attempt_id WHERE spent.attempt_id = excluded.attempt_id
     RETURNING hash`,
    USE,
  )
  // The time of a revocation is stored as the expiry less `TOKEN_LIFETIME_AT_MOST`, so that the index on the expiry finds the endings.
  const revoke = connection.prepare(
    'move',
    `INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash::packed, ${SPENT_KINDS.access_token}, :at + ${TOKEN_LIFETIME_AT_MOST}, :attemptId::packed)
     ON CONFLICT (hash, kind) DO UPDATE SET attempt_id = excluded.attempt_id WHERE spent.attempt_id = excluded.attempt_id
     RETURNING hash`,
    USE,
  )
  const confirm = connection.prepareConfirmation('spent WHERE hash = :hash::packed', USE)
  const find = connection.prepare('read', 'SELECT hash FROM spent WHERE hash = :hash::packed AND kind = :kind', USE)
  return {
    spend: async (use) => ((await spend({ ...use, kind: SPENT_KINDS[use.kind] })).length > 0 ? 'spent' : 'spent_before'),
    revokeClientToken: async (token) => ((await revoke(revokedTokenRow(token))).length > 0 ? 'spent' : 'spent_before'),
    confirmSpent: (hash) => confirm({ hash }),
    readSpent: async (kind, hash) => (await find({ kind: SPENT_KINDS[kind], hash })).length > 0,
  }
}

/** Prepares the change that stores that tokens of a client became inactive. A later ending of the same client renews the time. */
export function endingClients(connection: PostgresConnection): (hash: string, at: number) => Promise<void> {
  const end = connection.prepare(
    'move',
    `INSERT INTO spent (hash, kind, expires_at, attempt_id) VALUES (:hash::packed, ${SPENT_KINDS.client}, :at + ${TOKEN_LIFETIME_AT_MOST}, '')
     ON CONFLICT (hash, kind) DO UPDATE SET expires_at = excluded.expires_at`,
    USE,
  )
  return async (hash, at) => void (await end({ hash, at }))
}
