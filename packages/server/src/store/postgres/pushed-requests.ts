/** Pushed authorization requests on PostgreSQL. */
import type { PushedRequestStore } from '../../domain/model/request-store.ts'
import { unpack } from '../packed.ts'
import { prepareReadByKey } from './read-by-key.ts'
import type { PostgresConnection } from './statements/connection.ts'

type PushedRow = { id: Uint8Array; client_id: Uint8Array; request: string; expires_at: number; spent_at: number | null }

const REQUEST = { table: 'pushed_requests', key: 'id' } as const

const COLUMNS = 'pushed_requests.id, client_id, request, expires_at, spent_at'
const INSERT = ' INSERT INTO pushed_requests (id, client_id, request, expires_at)'
const VALUES = ':id::packed, :clientId::packed, :request, :expiresAt'
const UNLESS_STORED = ' ON CONFLICT (id) DO NOTHING RETURNING id'

export function createPushedRequestStore(connection: PostgresConnection): PushedRequestStore {
  const insert = connection.prepareBatched({
    kind: 'move',
    one: `${INSERT} VALUES (${VALUES})${UNLESS_STORED}`,
    forMany: `${INSERT} SELECT ${VALUES} FROM input ORDER BY 1${UNLESS_STORED}`,
    parameters: { id: 'packed', clientId: 'packed', request: 'text', expiresAt: 'bigint' },
    place: REQUEST,
    column: 'id',
    skipsLocked: false,
  })
  const confirm = connection.prepareConfirmation('pushed_requests WHERE id = :id::packed', REQUEST)
  const read = prepareReadByKey<PushedRow>(connection, REQUEST, COLUMNS)
  // The first use keeps its time. `least` and not `coalesce`, in which Citus does not allow a clock.
  const spend = connection.prepare(
    'move',
    `UPDATE pushed_requests SET spent_at = least(spent_at, :at), attempt_id = :attemptId::packed
     WHERE id = :id::packed AND (spent_at IS NULL OR attempt_id = :attemptId::packed) RETURNING id`,
    REQUEST,
  )
  return {
    async push(request) {
      if ((await insert(request)).length === 0) await confirm(request)
    },
    async readPushed(id) {
      const [row] = await read({ id })
      if (!row) return null
      return { id, clientId: unpack(row.client_id), request: row.request, expiresAt: row.expires_at, spentAt: row.spent_at }
    },
    async spendPushed(id, attemptId, at) {
      if ((await spend({ id, attemptId, at })).length > 0) return 'spent'
      return (await read({ id })).length > 0 ? 'spent_before' : 'unknown'
    },
  }
}
