/** When a process moves audit lines that wait outside of the chain. */
import { expect, test } from 'vitest'
import { createBatchMover } from '../../../src/domain/audit/batch-mover.ts'
import { lineOf, newEntry } from '../../../src/domain/audit/entry.ts'
import type { WaitingBatchStore } from '../../../src/domain/model/audit-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'

const NOW = 1_800_000_000

const IGNORED = { note: () => undefined, noteMoved: () => undefined, noteWaiting: () => undefined }

test('A process searches for the waiting lines of others once a minute on a cluster, also after its clock jumped back, and never on one machine', async () => {
  let at = NOW
  let waiting: WaitingBatchStore | null = null
  const calls: string[] = []
  const audit = { readHead: async () => void calls.push('head') } as unknown as Store['audit']
  const onCluster = { read: async () => (calls.push('read'), []) } as unknown as WaitingBatchStore
  let lease: 'taken' | 'held' = 'taken'
  const cleaning = { takeLease: async () => lease } as unknown as Store['cleaning']
  const options = { chain: audit, cleaning, waiting: () => waiting, holder: 'a', now: () => at }
  const mover = createBatchMover({ ...IGNORED, ...options })
  const moveAt = async (time: number) => {
    at = time
    calls.length = 0
    await mover.move()
    return [...calls]
  }
  expect(await moveAt(NOW)).toEqual([])
  waiting = onCluster
  expect(await moveAt(NOW)).toEqual(['head', 'read'])
  expect(await moveAt(NOW + 59)).toEqual([])
  expect(await moveAt(NOW + 60)).toEqual(['head', 'read'])
  expect(await moveAt(NOW - 3600)).toEqual(['head', 'read'])
  lease = 'held'
  expect(await moveAt(NOW), 'another process moves the lines').toEqual(['head'])
})

test('The moved lines are reported at once, and then once a minute at most, with their sum', async () => {
  let at = NOW
  const waiting: { size: number }[] = []
  const onCluster = {
    read: async () => waiting.map(({ size }, index) => ({ ...BATCH, position: index + 1, size })),
    remove: async () => void waiting.shift(),
  } as unknown as WaitingBatchStore
  const audit = { readHead: async () => ({}), append: async () => '' } as unknown as Store['audit']
  const cleaning = { takeLease: async () => 'taken' } as unknown as Store['cleaning']
  const logged: unknown[] = []
  const options = { chain: audit, cleaning, waiting: () => onCluster, holder: 'a', now: () => at }
  const mover = createBatchMover({ ...IGNORED, ...options, noteMoved: (lines) => logged.push([at - NOW, lines]) })
  for (const [time, sizes] of [
    [0, [2]],
    [60, [3]],
    [61, []],
    [119, [4]],
    [120, []],
    [180, [5]],
    [240, []],
  ] as const) {
    at = NOW + time
    waiting.push(...sizes.map((size) => ({ size })))
    await mover.move()
  }
  expect(logged).toEqual([
    [0, 2],
    [60, 3],
    [120, 4],
    [180, 5],
  ])
})

test('A process that cannot read the waiting lines does not renew its lease, so that another process can move them', async () => {
  let at = NOW
  const takers: string[] = []
  let holder = { id: '', until: 0 }
  const cleaning = {
    takeLease: async (_name: string, id: string, time: number, lifetime: number) => {
      if (holder.id !== id && holder.until > time) return 'held'
      holder = { id, until: time + lifetime }
      return 'taken'
    },
  } as unknown as Store['cleaning']
  const append = async () => ''
  const audit = { readHead: async () => ({}), append } as unknown as Store['audit']
  const nodeOf = (name: string, isFailing: boolean) => {
    const read = async () => {
      takers.push(name)
      if (isFailing) throw new StoreUnavailable('the worker does not respond')
      return []
    }
    const waiting = { read, store: async () => undefined, countLines: async () => 1 } as unknown as WaitingBatchStore
    return createBatchMover({ ...IGNORED, chain: audit, cleaning, waiting: () => waiting, holder: name, now: () => at })
  }
  const [failing, working] = [nodeOf('failing', true), nodeOf('working', false)]
  // Each node has a line that waits, so each one looks every second.
  for (const mover of [failing, working])
    await mover.batches()?.add({ writer: 'w', number: 1, at, lines: [lineOf(newEntry({ at, event: 'grant_ended' }))] })
  for (; at < NOW + 8; at++) {
    await failing.move().catch(() => undefined)
    await working.move()
  }
  expect(takers).toEqual(['failing', 'working'])
})

const BATCH = { series: 's', writer: 'w', number: 1, at: NOW, lines: '[]', previous: '', hash: '' }
