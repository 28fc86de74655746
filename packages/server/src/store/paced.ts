/** One step of a change of many rows, in both engines. */
import { setTimeout as pauseFor } from 'node:timers/promises'

/** So few rows do not delay other statements noticeably. */
const FEW = 20

/**
 * Runs a step that changes `rows` rows. After a large step it waits twice as long as the step took, so that a sequence
 * of steps takes at most a third of the store's time: with half of it, the 99th percentile of other statements doubled.
 */
export async function runPaced<Result>(rows: number, step: () => Promise<Result>): Promise<Result> {
  if (rows <= FEW) return step()
  const began = performance.now()
  const result = await step()
  await pauseFor(2 * (performance.now() - began))
  return result
}
