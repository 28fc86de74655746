/** When a process searches for audit lines that wait outside of the chain. */
import { expect, test } from 'vitest'
import { composeAudit } from '../../../src/cli/compose/audit.ts'
import type { WaitingBatchStore } from '../../../src/domain/model/audit-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'

const NOW = 1_800_000_000

test('A process searches for the waiting lines of others once a minute on a cluster, also after its clock jumped back, and never on one machine', async () => {
  let at = NOW
  let waiting: WaitingBatchStore | null = null
  const calls: string[] = []
  const audit = { readHead: async () => void calls.push('head') } as unknown as Store['audit']
  const onCluster = { read: async () => (calls.push('read'), []) } as unknown as WaitingBatchStore
  const store = { audit, waitingBatches: () => waiting }
  const limits = { count: () => ({ allowed: true }) as const }
  const { moveWaiting } = composeAudit({ store, now: () => at, log: () => undefined, metrics: undefined, limits })
  const moveAt = async (time: number) => {
    at = time
    calls.length = 0
    await moveWaiting()
    return [...calls]
  }
  expect(await moveAt(NOW)).toEqual([])
  waiting = onCluster
  expect(await moveAt(NOW)).toEqual(['head', 'read'])
  expect(await moveAt(NOW + 59)).toEqual([])
  expect(await moveAt(NOW + 60)).toEqual(['head', 'read'])
  expect(await moveAt(NOW - 3600)).toEqual(['head', 'read'])
})
