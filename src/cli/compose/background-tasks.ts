/** The tasks that a node repeats beside its requests. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { WebhookSender } from '../../domain/audit/webhooks.ts'
import type { BoundKeeper } from '../../domain/maintenance/bounds.ts'
import { createSweeper, SWEEP_EVERY } from '../../domain/maintenance/clean-up.ts'
import type { Upkeep } from '../../domain/maintenance/upkeep.ts'
import type { Lifetimes } from '../../domain/model/deps.ts'
import type { Store } from '../../domain/model/store.ts'
import { type Background, repeatEvery } from '../../ops/background.ts'
import type { Logger } from '../../ops/logger.ts'
import { createMachineWatch } from '../../ops/machine-watch.ts'
import type { Metrics } from '../../ops/metrics.ts'

type BackgroundParts = {
  store: Store
  lifetimes: Lifetimes
  now: () => number
  upkeep: Upkeep
  bounds: BoundKeeper
  keepTrail: (stopping: AbortSignal) => Promise<void>
  webhooks: WebhookSender
  logger: Logger
  metrics: Metrics | undefined
  /** absent if the admin API is off: then no node of this installation has jobs */
  workOnJobs: ((stopping: AbortSignal) => Promise<void>) | undefined
}

export function startBackground({
  store,
  lifetimes,
  now,
  upkeep,
  bounds,
  keepTrail,
  webhooks,
  logger,
  metrics,
  workOnJobs,
}: BackgroundParts): Background[] {
  const sweep = createSweeper({
    cleaning: store.cleaning,
    lifetimes,
    now,
    pause: (milliseconds) => pauseFor(milliseconds),
    note(kind, rows) {
      metrics?.countSwept(kind, rows)
      logger.info({ kind, rows }, 'cleaned')
    },
  })
  return [
    repeatEvery(0.5, 'noticing changes', upkeep.noticeChanges, logger),
    repeatEvery(60, 'keeping keys', upkeep.keepKeys, logger),
    repeatEvery(1, 'keeping bounds', bounds.keep, logger),
    repeatEvery(SWEEP_EVERY, 'cleaning', sweep, logger),
    ...(workOnJobs ? [repeatEvery(1, 'working on jobs', workOnJobs, logger)] : []),
    repeatEvery(1, 'delivering webhooks', webhooks.deliver, logger),
    repeatEvery(60, 'keeping the audit trail', keepTrail, logger),
    repeatEvery(1, 'noticing machines', createMachineWatch({ store, logger, metrics }), logger),
  ]
}
