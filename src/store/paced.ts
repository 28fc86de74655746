/** One step of a change of many rows, in either engine. */
import { setTimeout as pauseFor } from 'node:timers/promises'

/** So few rows are done before other statements notice. */
const FEW = 20

/**
 * Runs a step that changes so many rows. After a large one it waits twice as long as the step took, so that step after step
 * takes at most a third of the store's time: with half of it, the 99th percentile of other statements doubled.
 */
export async function paced<Result>(rows: number, step: () => Promise<Result>): Promise<Result> {
  if (rows <= FEW) return step()
  const began = performance.now()
  const result = await step()
  await pauseFor(2 * (performance.now() - began))
  return result
}
