/** The feed of endings: its log lines and its metrics. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import { EndingFeed, type FeedParts } from '../../domain/endings/feed.ts'
import { FeedReaders } from '../../domain/endings/feed-readers.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Part } from '../process/background.ts'

type EndingsOptions = Omit<FeedParts, 'nextTurn' | 'note'> & {
  logger: Pick<Logger, 'warn' | 'info'>
  metrics: Pick<Metrics, 'watchFeed'> | undefined
}

export function composeEndings({ logger, metrics, ...parts }: EndingsOptions): Part & { feed: EndingFeed; readers: FeedReaders } {
  const readers = new FeedReaders(parts.clock)
  const feed = new EndingFeed({
    ...parts,
    // A millisecond, and not the very next turn: many readers would leave the other requests a short turn each.
    nextTurn: () => pauseFor(1),
    note(state, entries) {
      if (state === 'too_large') logger.warn({ entries }, 'the feed of endings is too large: resource servers use introspection')
      else logger.info({ entries }, 'the feed of endings is complete again')
    },
  })
  metrics?.watchFeed(() => {
    const { entries, bytes, age, delay } = feed.facts()
    return { entries, bytes, age, delay, readers: readers.count, slowestAge: readers.slowestAge(parts.clock()) }
  })
  return { feed, readers, tasks: [{ name: 'reading endings', every: 0.5, run: () => feed.renew() }] }
}
