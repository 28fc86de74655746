/** The part that counts sign-ins and active wallets. */
import { ActivityCounter } from '../../domain/activity/activity-counter.ts'
import type { Store } from '../../domain/model/store.ts'
import { messagesOf } from '../../http/outage-log.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Part } from '../process/background.ts'

type ActivityParts = { store: Pick<Store, 'activity'>; now: () => number; logger: Pick<Logger, 'warn'> }

export function composeActivity({ store, now, logger }: ActivityParts): Part & { counter: ActivityCounter } {
  const counter = new ActivityCounter(store.activity, now)
  return {
    counter,
    tasks: [{ name: 'counting activity', every: 60, run: () => counter.store() }],
    // The counts of the last minute. A store that fails now loses them.
    close: () =>
      counter
        .store()
        .catch((error: unknown) => logger.warn({ problem: messagesOf(error) }, 'the last counts of activity are lost')),
  }
}
