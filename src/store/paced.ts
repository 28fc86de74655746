/** One step of a change of many rows, in either engine. */
import { setTimeout as pauseFor } from 'node:timers/promises'

/** So few rows are done before other statements notice. */
const FEW = 20

/**
 * Runs a step that changes so many rows. After a large one it waits for as long as the step took, so that step after step
 * takes at most half of the store's time.
 */
export async function paced<Result>(rows: number, step: () => Promise<Result>): Promise<Result> {
  if (rows <= FEW) return step()
  const began = performance.now()
  const result = await step()
  await pauseFor(performance.now() - began)
  return result
}
