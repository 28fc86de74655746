/** A cluster whose coordinator is killed during a test. */
import { expect, onTestFinished } from 'vitest'
import type { App } from '../support/app.ts'
import type { Cluster } from './cluster.ts'

/** Resolves when the node is connected to the machines of the rows. */
export async function untilDirect({ freshTokens, grantor }: App): Promise<void> {
  const check = async () => {
    await freshTokens()
    await grantor.store.placement().checkRows()
    return 'connected'
  }
  await expect.poll(() => check().catch(String), { timeout: 20_000 }).toBe('connected')
}

/** Returns a function that starts the coordinator again, which the end of the test does otherwise. */
export async function killCoordinator({ coordinator }: Cluster): Promise<() => Promise<void>> {
  await coordinator.stop('kill')
  let isStopped = true
  const restart = async () => {
    if (isStopped) await coordinator.start()
    isStopped = false
  }
  onTestFinished(restart)
  return restart
}
