/** Reports which machines of a database cluster do not answer: in the log when that changes, and as a metric. */
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

type Watched = {
  store: { machinesAway?(): string[] }
  logger: Pick<Logger, 'warn' | 'info'>
  metrics: Pick<Metrics, 'setMachinesAway'> | undefined
}

/** Returns a task that compares the machines that are away with those at its last run. */
export function createMachineWatch({ store, logger, metrics }: Watched): () => Promise<void> {
  let before: readonly string[] = []
  return () => {
    const away = store.machinesAway?.() ?? []
    for (const machine of away)
      if (!before.includes(machine)) logger.warn({ machine }, 'a machine of the database does not answer')
    for (const machine of before) if (!away.includes(machine)) logger.info({ machine }, 'a machine of the database answers again')
    if (away.length + before.length > 0) metrics?.setMachinesAway(away)
    before = away
    return Promise.resolve()
  }
}
