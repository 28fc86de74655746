/** Batches of audit lines that wait while the coordinator of a cluster is unavailable. Each series is on one machine. */
import type { WaitingBatch, WaitingBatchStore } from '../../domain/model/audit-store.ts'
import { unpack } from '../packed.ts'
import type { Statements } from '../postgres/placement.ts'

type WaitingRow = Omit<WaitingBatch, 'series'> & { series: Uint8Array }

const SERIES = { table: 'audit_waiting', key: 'series' } as const

export function createWaitingBatchStore(connection: Pick<Statements, 'prepare'>): WaitingBatchStore {
  // A repeated attempt locks the row, so its commit waits for a synchronous standby too.
  const store = connection.prepare(
    'move',
    `INSERT INTO audit_waiting (series, position, writer, number, at, size, lines, previous, hash)
     VALUES (:series::packed, :position::bigint, :writer, :number::bigint, :addedAt::bigint, :size::bigint, :lines, :previous, :hash)
     ON CONFLICT (series, position) DO UPDATE SET hash = excluded.hash`,
    SERIES,
  )
  const read = connection.prepare<WaitingRow>(
    'read',
    `SELECT series, position, writer, number, at, size, lines, previous, hash FROM audit_waiting
     WHERE (series, position) > (:series::packed, :position::bigint) ORDER BY series, position LIMIT :limit`,
    { table: 'audit_waiting' },
  )
  const remove = connection.prepare(
    'move',
    'DELETE FROM audit_waiting WHERE series = :series::packed AND position = :position::bigint',
    SERIES,
  )
  const count = connection.prepare<{ lines: number }>(
    'read',
    'SELECT coalesce(sum(size), 0)::bigint AS lines FROM audit_waiting',
    { table: 'audit_waiting' },
  )
  return {
    store: async ({ at, ...batch }) => void (await store({ ...batch, addedAt: at })),
    async read({ after: { series, position }, limit }) {
      const rows = await read({ series, position, limit })
      return rows.map((row) => ({ ...row, series: unpack(row.series) }))
    },
    remove: async ({ series, position }) => void (await remove({ series, position })),
    countLines: async () => (await count())[0]?.lines ?? 0,
  }
}
