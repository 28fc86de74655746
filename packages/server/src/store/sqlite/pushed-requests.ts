/** Pushed authorization requests on SQLite. */
import type { PushedRequestStore } from '../../domain/model/request-store.ts'
import { pack, unpack } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'

type PushedRow = { client_id: Uint8Array; request: string; expires_at: number; spent_at: number | null }

export function createPushedRequestStore(connection: SqliteConnection): PushedRequestStore {
  const insert = connection.prepareWrite(`
    INSERT INTO pushed_requests (id, client_id, request, expires_at) VALUES (:id, :clientId, :request, :expiresAt)
    ON CONFLICT (id) DO NOTHING`)
  const read = connection.prepareRead('SELECT client_id, request, expires_at, spent_at FROM pushed_requests WHERE id = ?')
  const spend = connection.prepareWrite(`
    UPDATE pushed_requests SET spent_at = coalesce(spent_at, :at), attempt_id = :attemptId
    WHERE id = :id AND (spent_at IS NULL OR attempt_id = :attemptId)`)
  const present = connection.prepareWrite('SELECT 1 FROM pushed_requests WHERE id = ?')
  return {
    push: ({ id, clientId, request, expiresAt }) =>
      connection.write(() => void insert.run({ id: pack(id), clientId: pack(clientId), request, expiresAt })),
    readPushed: (id) =>
      connection.read(() => {
        const row = read.get(pack(id)) as PushedRow | undefined
        if (!row) return null
        return { id, clientId: unpack(row.client_id), request: row.request, expiresAt: row.expires_at, spentAt: row.spent_at }
      }),
    spendPushed: (id, attemptId, at) =>
      connection.write(() => {
        if (spend.run({ id: pack(id), attemptId: pack(attemptId), at }).changes > 0) return 'spent'
        return present.get(pack(id)) ? 'spent_before' : 'unknown'
      }),
  }
}
