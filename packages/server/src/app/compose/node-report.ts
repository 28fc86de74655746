/** The part that reports what this process is and counted, for the overview of the service. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { EndingFeed } from '../../domain/endings/feed.ts'
import type { FeedReaders } from '../../domain/endings/feed-readers.ts'
import type { NodeReport } from '../../domain/model/node-store.ts'
import type { NotedIncidents } from '../../domain/nodes/incidents.ts'
import { createReporter, type Reporter } from '../../domain/nodes/reporter.ts'
import { messagesOf } from '../../http/outage-log.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { LiveState } from '../../observability/metrics/live-state.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import type { Part } from '../process/background.ts'
import { version } from './version.ts'

type ReportParts = {
  store: OpenedStore
  now: () => number
  logger: Pick<Logger, 'warn'>
  live: LiveState
  incidents: NotedIncidents
  endings: { feed: Pick<EndingFeed, 'facts'>; readers: FeedReaders }
  keyDueAt: () => number | null
  /** absent if a proxy terminates TLS */
  certificateEndsAt?: (() => number) | undefined
}

/** Seconds. A report is stored once a minute, and soon after the minute is over. */
const CHECKED_EVERY = 5

export function composeNodeReport(parts: ReportParts): Part & { reporter: Reporter } {
  const { store, now, logger, incidents } = parts
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION })
  loop.enable()
  const id = randomUUID()
  const reporter = createReporter({
    store,
    now,
    incidents,
    read: () => ({ id, ...factsOf(parts) }),
    async measure() {
      const begun = performance.now()
      await store.readRevision()
      const lag = lagOf(loop)
      loop.reset()
      return { storeTime: rounded(performance.now() - begun), lag }
    },
  })
  return {
    reporter,
    tasks: [{ name: 'reporting', every: CHECKED_EVERY, run: reporter.report }],
    async close() {
      loop.disable()
      await reporter.stop().catch((error: unknown) => logger.warn({ problem: messagesOf(error) }, 'the last report is lost'))
    },
  }
}

function factsOf({ store, now, live, endings: { feed, readers }, keyDueAt, certificateEndsAt }: ReportParts) {
  const { senders, others } = live.refusedSenders.read()
  return {
    startedAt: live.startedAt,
    machine: hostname(),
    processId: process.pid,
    version: version(),
    keyDueAt: keyDueAt(),
    certificateEndsAt: certificateEndsAt?.() ?? null,
    machinesAway: store.placement().machinesAway,
    feedReaders: readers.count,
    feedLag: rounded(Math.max(feed.facts().age ?? 0, readers.slowestAge(now()))),
    minutes: live.readMinutes(),
    refused: senders,
    otherRefusals: others,
  } satisfies Partial<NodeReport>
}

/** Milliseconds. The delay of a turn is measured with this resolution, which is part of the value. */
const RESOLUTION = 20

function lagOf(loop: ReturnType<typeof monitorEventLoopDelay>): number {
  return loop.count === 0 ? 0 : rounded(Math.max(0, loop.percentile(99) / 1e6 - RESOLUTION))
}

const rounded = (value: number): number => Math.round(value * 10) / 10
