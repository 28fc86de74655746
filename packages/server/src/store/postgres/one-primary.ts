/** The placement of plain PostgreSQL: all rows are on one primary. Every connection begins with it. */
import { ONE_MACHINE } from '../cluster-health.ts'
import { unpack } from '../packed.ts'
import { BEGUN_BEFORE } from './ending-history.ts'
import type { Placement, PlacementContext } from './placement.ts'
import { SKIPPED } from './statements/batches.ts'
import { SharedRuns } from './statements/shared-runs.ts'
import { COMMIT, type NamedValues } from './statements/statement.ts'
import { withoutLock } from './statements/wallet-lock.ts'

/** The shortest time between two commits that only confirm earlier commits, whatever the rate of repeated requests is. */
export const CONFIRM_EVERY_MS = 20
const BATCHES_AT_ONCE = 2
const ANY_ROW = { key: '', isShared: false }

const keyText = (key: unknown): unknown => (key instanceof Uint8Array ? unpack(key) : key)

export function onePrimary({ group, connection }: Omit<PlacementContext, 'address'>): Placement {
  const confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  // Until the first search, and on a database that only resembles PostgreSQL, the rows can be on several machines.
  const mayCombine = (changes: 'rows' | 'records') => changes === 'records' || group.server?.state?.isDistributed === false

  /** If no standby confirms commits, every commit that is visible on this server is durable. */
  async function confirm(on: string | undefined): Promise<void> {
    const { state } = await connection.findServer()
    const instance = on ?? state?.instance ?? ''
    const query = { name: '', text: `SELECT ${COMMIT}`, values: [] }
    if (state?.isReplicated || instance !== state?.instance)
      await confirmations.run(instance, () => connection.run({ kind: 'move', query, instance }))
  }

  return {
    ...ONE_MACHINE,
    routeOf: ({ query }) => ({ group, query: mayCombine('rows') ? query : withoutLock(query) }),
    batchOf: () => (mayCombine('rows') ? ANY_ROW : undefined),
    batchesAtOnce: () => BATCHES_AT_ONCE,
    async sendBatch(inputs, send) {
      const [{ statement }] = inputs as [(typeof inputs)[number]]
      const rows = await send<NamedValues>({ query: statement.together(inputs) })
      const found = new Map(rows.map((row) => [keyText(row[statement.column]), row]))
      const missing = statement.skipsLocked ? SKIPPED : undefined
      return inputs.map(({ named }) => found.get(named[statement.place.key]) ?? missing)
    },
    mayCombine,
    settle: async () => void (await connection.findServer()),
    async readInstance() {
      if (group.server?.state) return group.server.state.instance
      const [row] = await connection.query<{ instance: string }>('SELECT pg_postmaster_start_time()::text AS instance')
      return row?.instance ?? ''
    },
    confirm,
    confirmRow: ({ on }) => confirm(on),
    begunBefore: BEGUN_BEFORE,
    askEveryMachine: async () => [],
    estimateRows: async () => null,
    configureSteps: async () => undefined,
    distribute: async () => undefined,
    countUndistributed: async () => 0,
    close: async () => undefined,
  }
}
