/** Pushed authorization requests on PostgreSQL. */
import type { PushedRequestStore } from '../../domain/model/request-store.ts'
import { prepareReadByKey } from './read-by-key.ts'
import type { PostgresConnection } from './statements/connection.ts'

type PushedRow = { id: string; client_id: string; request: string; expires_at: number; spent_at: number | null }

const REQUEST = { table: 'pushed_requests', key: 'id' } as const

const COLUMNS = 'pushed_requests.id, client_id, request, expires_at, spent_at'
const INSERT = ' INSERT INTO pushed_requests (id, client_id, request, expires_at)'
const VALUES = ':id, :clientId, :request, :expiresAt'
const UNLESS_STORED = ' ON CONFLICT (id) DO NOTHING RETURNING id'

export function createPushedRequestStore(connection: PostgresConnection): PushedRequestStore {
  const insert = connection.prepareBatched({
    kind: 'move',
    one: `${INSERT} VALUES (${VALUES})${UNLESS_STORED}`,
    forMany: `${INSERT} SELECT ${VALUES} FROM input ORDER BY 1${UNLESS_STORED}`,
    parameters: { id: 'text', clientId: 'text', request: 'text', expiresAt: 'bigint' },
    place: REQUEST,
    column: 'id',
    skipsLocked: false,
  })
  const confirm = connection.prepareConfirmation('pushed_requests WHERE id = :id', REQUEST)
  const read = prepareReadByKey<PushedRow>(connection, REQUEST, COLUMNS)
  // The first use keeps its time. `least` and not `coalesce`, in which Citus does not allow a clock.
  const spend = connection.prepare(
    'move',
    `UPDATE pushed_requests SET spent_at = least(spent_at, :at), attempt_id = :attemptId
     WHERE id = :id AND (spent_at IS NULL OR attempt_id = :attemptId) RETURNING id`,
    REQUEST,
  )
  return {
    async push(request) {
      if ((await insert(request)).length === 0) await confirm(request)
    },
    async readPushed(id) {
      const [row] = await read({ id })
      if (!row) return null
      return { id: row.id, clientId: row.client_id, request: row.request, expiresAt: row.expires_at, spentAt: row.spent_at }
    },
    async spendPushed(id, attemptId, at) {
      if ((await spend({ id, attemptId, at })).length > 0) return 'spent'
      return (await read({ id })).length > 0 ? 'spent_before' : 'unknown'
    },
  }
}
