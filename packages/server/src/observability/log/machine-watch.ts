/**
 * Reports which machines of a database cluster do not answer: in the log when that changes, and as a metric. Also reports in the log which machines this
 * node does not reach directly, and if appends to the audit trail need a two-phase commit, because one of these is the coordinator.
 */

import type { Metrics } from '../metrics/metrics.ts'
import type { Logger } from './logger.ts'

type Watched = {
  machines: () => {
    machinesAway: readonly string[]
    directProblems: ReadonlyMap<string, string>
    coordinatorProblem: string | null
  }
  logger: Pick<Logger, 'warn' | 'info'>
  metrics: Pick<Metrics, 'setMachinesAway'> | undefined
}

/** Returns a task that compares the machines that are away with those at its last run. */
export function createMachineWatch({ machines, logger, metrics }: Watched): () => Promise<void> {
  let before: readonly string[] = []
  let problemBefore: string | null = null
  const reportIndirect = reportingIndirect(logger)
  return () => {
    const { machinesAway: away, directProblems, coordinatorProblem: problem } = machines()
    for (const machine of away)
      if (!before.includes(machine)) logger.warn({ machine }, 'a machine of the database does not answer')
    for (const machine of before) if (!away.includes(machine)) logger.info({ machine }, 'a machine of the database answers again')
    if (away.length + before.length > 0) metrics?.setMachinesAway(away)
    before = away
    reportIndirect(directProblems, away)
    if (problem !== null && problemBefore === null)
      logger.warn({ problem }, 'the coordinator of the database is not used directly, so a lost connection can hold up sign-ins')
    if (problem === null && problemBefore !== null) logger.info('the coordinator of the database is used directly again')
    problemBefore = problem
    return Promise.resolve()
  }
}

/**
 * Returns a function that reports a machine that is not reached directly at two calls in a row, and that is away at neither: after a loss the first
 * search can fail.
 */
function reportingIndirect(logger: Watched['logger']): (problems: ReadonlyMap<string, string>, away: readonly string[]) => void {
  let before: readonly string[] = []
  const reported = new Set<string>()
  return (problems, away) => {
    for (const [machine, problem] of problems) {
      if (!before.includes(machine) || away.includes(machine) || reported.has(machine)) continue
      reported.add(machine)
      logger.warn(
        { machine, problem },
        'a machine of the database is not reached directly, so its rows are reached over another machine',
      )
    }
    for (const machine of reported) {
      if (problems.has(machine)) continue
      reported.delete(machine)
      logger.info({ machine }, 'a machine of the database is reached directly again')
    }
    before = [...problems.keys()].filter((machine) => !away.includes(machine))
  }
}
