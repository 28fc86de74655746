/** Repeats requests without a response, as a good client does. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Entry } from './history.ts'
import type { Random } from './random.ts'

/** The time after which a client gives up. It only ends what hangs: a busy machine must not end it. */
const GIVE_UP_AFTER_MS = 180_000

/** Resolves when the service has certainly stopped processing these requests, which got no response. */
export type Settle = (lost: readonly Entry[]) => Promise<void>

export async function retryUntilAnswered(ask: () => Promise<Entry>, random: Random, settle: Settle): Promise<Entry> {
  const since = performance.now()
  const lost: Entry[] = []
  let entry = await ask()
  while (entry.response.kind === 'lost' && performance.now() - since < GIVE_UP_AFTER_MS) {
    lost.push(entry)
    await pause(20 + random.below(100))
    entry = await ask()
  }
  // A request without a response may still be in progress. After this, the next request is certainly later.
  if (lost.length > 0) await settle(lost)
  return entry
}
