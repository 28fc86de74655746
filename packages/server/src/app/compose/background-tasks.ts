/** Starts the tasks of all parts of the auth service. */
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { messagesOf, type OutageLog } from '../../http/outage-log.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import { type Background, type Part, repeat, type Task } from '../process/background.ts'

type Reports = { storeOutage: OutageLog; logger: Logger; metrics: Metrics | undefined }

export function startBackground(parts: readonly Part[], { storeOutage, logger, metrics }: Reports): Background[] {
  return parts
    .flatMap(({ tasks = [] }) => tasks)
    .map((task) => {
      metrics?.expectTask(task.name)
      return repeat(withoutOutages(storeOutage, metrics ? countRuns(metrics, task) : task), logger)
    })
}

/** Counts a failure of the store as part of the outage. It is no failure of the task, which would have lines of its own. */
function withoutOutages(storeOutage: OutageLog, task: Task): Task {
  return {
    ...task,
    async run(stopping) {
      try {
        await task.run(stopping)
      } catch (error) {
        if (!isOfStore(error)) throw error
        storeOutage.failed({ problem: messagesOf(error) })
      }
    },
  }
}

function isOfStore(error: unknown): boolean {
  return error instanceof StoreUnavailable || (error instanceof Error && error.cause instanceof StoreUnavailable)
}

/** A store that cannot be read is visible in these counts even if no request arrives: `noticing changes` runs twice a second. */
function countRuns(metrics: Pick<Metrics, 'countBackgroundRun'>, task: Task): Task {
  return {
    ...task,
    async run(stopping) {
      try {
        await task.run(stopping)
        metrics.countBackgroundRun(task.name, 'done')
      } catch (error) {
        metrics.countBackgroundRun(task.name, 'failed')
        throw error
      }
    },
  }
}
