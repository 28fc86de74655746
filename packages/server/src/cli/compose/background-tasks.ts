/** The tasks that a node repeats beside its requests. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { ActivityCounter } from '../../domain/activity/activity-counter.ts'
import type { WebhookSender } from '../../domain/audit/webhooks.ts'
import type { EndingFeed } from '../../domain/endings/feed.ts'
import type { BoundKeeper } from '../../domain/maintenance/bounds.ts'
import { createSweeper, SWEEP_EVERY } from '../../domain/maintenance/clean-up.ts'
import type { Upkeep } from '../../domain/maintenance/upkeep.ts'
import type { Lifetimes } from '../../domain/model/deps.ts'
import type { SweptKind } from '../../domain/model/operator-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { messagesOf, type OutageLog } from '../../ops/http/outage-log.ts'
import type { Logger } from '../../ops/log/logger.ts'
import { createMachineWatch } from '../../ops/log/machine-watch.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import { type Background, repeatEvery } from '../../ops/process/background.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'

type BackgroundParts = {
  store: OpenedStore
  lifetimes: Lifetimes
  now: () => number
  upkeep: Upkeep
  endings: { feed: Pick<EndingFeed, 'renew'> }
  bounds: BoundKeeper
  activity: Pick<ActivityCounter, 'store'>
  keepTrail: (stopping: AbortSignal) => Promise<void>
  moveWaiting: Task
  webhooks: WebhookSender
  logger: Logger
  storeOutage: OutageLog
  metrics: Metrics | undefined
  workOnJobs: Task
  workOnEndings: Task
  workOnMatching: Task
}

export function startBackground({
  store,
  lifetimes,
  now,
  upkeep,
  endings,
  bounds,
  activity,
  keepTrail,
  moveWaiting,
  webhooks,
  logger,
  storeOutage,
  metrics,
  workOnJobs,
  workOnEndings,
  workOnMatching,
}: BackgroundParts): Background[] {
  const sweep = createSweeper({
    cleaning: store.cleaning,
    lifetimes,
    now,
    mustKeep: keepingWriters(store, now),
    pause: (milliseconds) => pauseFor(milliseconds),
    note(kind, rows) {
      metrics?.countSwept(kind, rows)
      logger.info({ kind, rows }, 'cleaned')
    },
  })
  const repeat = (seconds: number, name: string, task: Task): Background => {
    metrics?.expectTask(name)
    return repeatEvery(seconds, name, withoutOutages(storeOutage, metrics ? countRuns(metrics, name, task) : task), logger)
  }
  return [
    repeat(0.5, 'noticing changes', async () => {
      await upkeep.noticeChanges()
      storeOutage.works()
    }),
    repeat(0.5, 'reading endings', () => endings.feed.renew()),
    repeat(60, 'keeping keys', upkeep.keepKeys),
    repeat(1, 'keeping bounds', bounds.keep),
    repeat(SWEEP_EVERY, 'cleaning', sweep),
    repeat(1, 'working on jobs', workOnJobs),
    repeat(1, 'working on endings', workOnEndings),
    repeat(1, 'working on matching grants', workOnMatching),
    repeat(1, 'delivering webhooks', webhooks.deliver),
    repeat(60, 'keeping the audit trail', keepTrail),
    repeat(1, 'moving waiting audit lines', moveWaiting),
    repeat(60, 'counting activity', () => activity.store()),
    repeat(1, 'noticing machines', createMachineWatch({ machines: store.placement, logger, metrics })),
  ]
}

type Task = (stopping: AbortSignal) => Promise<void>

/** Counts a failure of the store as part of the outage. It is no failure of the task, which would have lines of its own. */
function withoutOutages(storeOutage: OutageLog, task: Task): Task {
  return async (stopping) => {
    try {
      await task(stopping)
    } catch (error) {
      if (!isOfStore(error)) throw error
      storeOutage.failed({ problem: messagesOf(error) })
    }
  }
}

function isOfStore(error: unknown): boolean {
  return error instanceof StoreUnavailable || (error instanceof Error && error.cause instanceof StoreUnavailable)
}

/** A store that cannot be read is visible in these counts even if no request arrives: `noticing changes` runs twice a second. */
function countRuns(metrics: Pick<Metrics, 'countBackgroundRun'>, name: string, task: Task): Task {
  return async (stopping) => {
    try {
      await task(stopping)
      metrics.countBackgroundRun(name, 'done')
    } catch (error) {
      metrics.countBackgroundRun(name, 'failed')
      throw error
    }
  }
}

/** Seconds between two looks at the audit lines that wait. */
const WAITING_EVERY = 600

/**
 * While audit lines wait outside of the chain, the rows of the writers stay: without its row, a batch that the chain has already would be stored a
 * second time.
 */
function keepingWriters({ placement }: Pick<OpenedStore, 'placement'>, now: () => number): (kind: SweptKind) => Promise<boolean> {
  let [lines, lookedAt] = [0, Number.NEGATIVE_INFINITY]
  return async (kind) => {
    const waiting = kind === 'audit_writers' ? placement().waitingBatches : null
    if (!waiting) return false
    if (Math.abs(now() - lookedAt) >= WAITING_EVERY) [lines, lookedAt] = [await waiting.countLines(), now()]
    return lines > 0
  }
}
