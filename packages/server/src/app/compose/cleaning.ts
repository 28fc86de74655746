/** The part that deletes rows some time after their end. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import { createSweeper, SWEEP_EVERY } from '../../domain/maintenance/clean-up.ts'
import type { Lifetimes } from '../../domain/model/deps.ts'
import type { SweptKind } from '../../domain/model/operator-store.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import type { Part } from '../process/background.ts'

type CleaningParts = {
  store: Pick<OpenedStore, 'cleaning' | 'placement'>
  lifetimes: Lifetimes
  now: () => number
  logger: Pick<Logger, 'info'>
  metrics: Pick<Metrics, 'countSwept'> | undefined
}

export function composeCleaning({ store, lifetimes, now, logger, metrics }: CleaningParts): Part {
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
  return { tasks: [{ name: 'cleaning', every: SWEEP_EVERY, run: sweep }] }
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
