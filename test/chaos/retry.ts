/** Repeats requests without a response, as a good client does. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Entry } from './history.ts'
import type { Random } from './random.ts'

/** The time after which a client gives up. */
const GIVE_UP_AFTER_MS = 30_000

/** `settling`: milliseconds for which the service may still process a request that got no response. */
export async function retryUntilAnswered(ask: () => Promise<Entry>, random: Random, settling: number): Promise<Entry> {
  const since = performance.now()
  let entry = await ask()
  let lost = false
  while (entry.response.kind === 'lost' && performance.now() - since < GIVE_UP_AFTER_MS) {
    lost = true
    await pause(20 + random.below(100))
    entry = await ask()
  }
  // A request without a response may still be in progress. After this pause, the next request is certainly later.
  if (lost && settling > 0) await pause(settling)
  return entry
}
