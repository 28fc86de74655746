/** Waits for something that must happen soon, without a deadline. */
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/**
 * Tries this many times, 50 ms apart, until the value is the wanted one. A busy machine slows the attempts as much as the code that
 * they wait for. A number of attempts therefore depends less on the machine than a deadline. 24 attempts take a little over a second
 * on a quiet machine.
 */
export async function soon<Value>(look: () => Promise<Value>, wanted: Value, attempts = 24): Promise<void> {
  for (let left = attempts; left > 1; left--) {
    if (isDeepStrictEqual(await look(), wanted)) return
    await pause(50)
  }
  expect(await look()).toEqual(wanted)
}

/**
 * Whether work of this process is done before a timer of this process. A busy machine delays both alike, so it does not change
 * which is first.
 */
export async function isDoneWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const late = new AbortController()
  const timer = pause(ms, false, { signal: late.signal }).catch(() => false)
  const first = await Promise.race([work.then(() => true), timer])
  late.abort()
  await work
  return first
}
