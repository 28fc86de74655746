/**
 * Reports which machines of a database cluster do not answer: in the log when that changes, and as a metric. Also reports in the log if appends to
 * the audit trail need a two-phase commit, because this node does not reach the coordinator.
 */

import type { Metrics } from '../metrics/metrics.ts'
import type { Logger } from './logger.ts'

type Watched = {
  store: { machinesAway?(): string[]; coordinatorProblem?(): string | null }
  logger: Pick<Logger, 'warn' | 'info'>
  metrics: Pick<Metrics, 'setMachinesAway'> | undefined
}

/** Returns a task that compares the machines that are away with those at its last run. */
export function createMachineWatch({ store, logger, metrics }: Watched): () => Promise<void> {
  let before: readonly string[] = []
  let problemBefore: string | null = null
  return () => {
    const away = store.machinesAway?.() ?? []
    for (const machine of away)
      if (!before.includes(machine)) logger.warn({ machine }, 'a machine of the database does not answer')
    for (const machine of before) if (!away.includes(machine)) logger.info({ machine }, 'a machine of the database answers again')
    if (away.length + before.length > 0) metrics?.setMachinesAway(away)
    before = away
    const problem = store.coordinatorProblem?.() ?? null
    if (problem !== null && problemBefore === null)
      logger.warn({ problem }, 'the coordinator of the database is not used directly, so a lost connection can hold up sign-ins')
    if (problem === null && problemBefore !== null) logger.info('the coordinator of the database is used directly again')
    problemBefore = problem
    return Promise.resolve()
  }
}
