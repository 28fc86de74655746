/** What a good client does where no answer came: it asks again. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Entry } from './history.ts'
import type { Random } from './random.ts'

/** How long a client asks again before it gives up. */
const PERSEVERANCE_MS = 30_000

/** `settling`: milliseconds in which a request without an answer may still be worked on. */
export async function askAgain(ask: () => Promise<Entry>, random: Random, settling: number): Promise<Entry> {
  const since = performance.now()
  let entry = await ask()
  let lost = false
  while (entry.told.kind === 'lost' && performance.now() - since < PERSEVERANCE_MS) {
    lost = true
    await pause(20 + random.below(100))
    entry = await ask()
  }
  // A request whose answer is lost may still be under way; only afterwards is what comes next sure to be younger.
  if (lost && settling > 0) await pause(settling)
  return entry
}
