/** Waiting for what has to come soon, without a deadline. */
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/**
 * Looks so many times, 50 ms apart, until it finds what is wanted. A busy machine slows the looks as it slows what they wait
 * for, so their number, unlike a deadline, says nothing of the machine. 24 of them are a little over a second on a quiet one.
 */
export async function soon<Value>(look: () => Promise<Value>, wanted: Value, attempts = 24): Promise<void> {
  for (let left = attempts; left > 1; left--) {
    if (isDeepStrictEqual(await look(), wanted)) return
    await pause(50)
  }
  expect(await look()).toEqual(wanted)
}

/**
 * Whether work of this process is done before a timer of this process. What holds the process up holds up both, so a busy
 * machine changes nothing about which comes first.
 */
export async function isDoneWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const late = new AbortController()
  const timer = pause(ms, false, { signal: late.signal }).catch(() => false)
  const first = await Promise.race([work.then(() => true), timer])
  late.abort()
  await work
  return first
}
