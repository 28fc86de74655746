/** Batches that wait outside of the chain, and come into the chain once. The chain is one of SQLite; the waiting batches are in memory. */
import { expect, onTestFinished, test } from 'vitest'
import { ChainWriter } from '../../../src/domain/audit/chain.ts'
import { lineOf, newEntry } from '../../../src/domain/audit/entry.ts'
import { verifyStore } from '../../../src/domain/audit/verify-store.ts'
import { type BatchFault, moveWaitingBatches, WaitingBatches } from '../../../src/domain/audit/waiting-batches.ts'
import type { AuditBatch, WaitingBatch, WaitingBatchStore } from '../../../src/domain/model/audit-store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { NOW } from '../../store/contract/subject.ts'
import { newSqlitePath } from '../../store/sqlite-file.ts'

type Failure = 'before' | 'after' | null

async function trail() {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  const rows = new Map<string, WaitingBatch>()
  const failing: { chain: Failure; waiting: Failure } = { chain: null, waiting: null }
  const faults: BatchFault[] = []
  /** the writer of each append that the chain has stored */
  const appended: string[] = []
  const keyOf = ({ series, position }: Pick<WaitingBatch, 'series' | 'position'>) =>
    `${series} ${String(position).padStart(9, '0')}`
  const waiting: WaitingBatchStore = {
    async store(batch) {
      if (failing.waiting === 'before') throw new StoreUnavailable('away')
      rows.set(keyOf(batch), batch)
      if (failing.waiting === 'after') throw new StoreUnavailable('the response was lost')
    },
    read: async ({ after, limit }) =>
      [...rows]
        .filter(([key]) => key > keyOf(after))
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([, row]) => row)
        .slice(0, limit),
    remove: async (batch) => void rows.delete(keyOf(batch)),
    countLines: async () => [...rows.values()].reduce((sum, { size }) => sum + size, 0),
  }
  const chain = {
    ...store.audit,
    async append(batch: AuditBatch) {
      if (failing.chain === 'before') throw new StoreUnavailable('away')
      const outcome = await store.audit.append(batch)
      appended.push(batch.writer)
      if (failing.chain === 'after') throw new StoreUnavailable('the response was lost')
      return outcome
    },
  }
  const move = (stopping?: AbortSignal) =>
    moveWaitingBatches({
      chain,
      waiting,
      now: () => NOW,
      note: (fault) => faults.push(fault),
      mayMove: async () => true,
      stopping,
    })
  const lines = async () => {
    expect(await verifyStore(store.audit, { findKey: () => undefined })).toMatchObject({ fault: null })
    const stored = await store.audit.readLines({ after: 0, limit: 10_000 })
    return stored.map(({ line }) => JSON.parse(line) as { id: string; event: string; reason?: string; details?: object })
  }
  return { chain, waiting, rows, failing, faults, appended, move, lines }
}

/** A process whose lines can wait. `writer.append` tries the chain each time. */
function processOn({ chain, waiting }: Pick<Awaited<ReturnType<typeof trail>>, 'chain' | 'waiting'>) {
  const batches = new WaitingBatches(waiting)
  const succeedsInTime = (append: Promise<unknown>) =>
    append.then(
      () => true,
      () => false,
    )
  const whileUnavailable = { batches, succeedsInTime, pause: () => Promise.resolve() }
  return {
    batches,
    writer: new ChainWriter(chain, () => NOW, { whileUnavailable: () => whileUnavailable }),
  }
}

const entry = () => newEntry({ at: NOW, event: 'session_started' })
const entries = (count: number) => Array.from({ length: count }, entry)

test.each(['before', 'after'] as const)(
  'Lines whose append fails %s the commit wait outside of the chain, and are in the chain once, in the order of their process',
  async (how) => {
    const parts = await trail()
    const { writer } = processOn(parts)
    const all = entries(6)
    expect(await writer.append(all.slice(0, 1))).toBe('appended')
    parts.failing.chain = how
    for (const each of all.slice(1, 4)) expect(await writer.append([each])).toBe('waiting')
    parts.failing.chain = null
    expect(await writer.append(all.slice(4, 5))).toBe('appended')
    expect(await parts.move()).toBe(3)
    expect(await writer.append(all.slice(5))).toBe('appended')
    const stored = (await parts.lines()).map(({ id }) => id)
    expect(stored.toSorted()).toEqual(all.map(({ id }) => id).toSorted())
    expect(parts.faults).toEqual([])
    expect(parts.rows.size).toBe(0)
  },
)

test.each(['before', 'after'] as const)(
  'If storing a waiting batch fails %s the commit, the same lines are stored once, and later lines wait without a fault',
  async (how) => {
    const parts = await trail()
    const { writer } = processOn(parts)
    const all = entries(4)
    parts.failing.chain = 'before'
    expect(await writer.append(all.slice(0, 1))).toBe('waiting')
    parts.failing.waiting = how
    await expect(writer.append(all.slice(1, 2))).rejects.toBeInstanceOf(StoreUnavailable)
    // The chain takes this batch, whose waiting copy may exist.
    parts.failing.chain = null
    expect(await writer.append(all.slice(1, 2))).toBe('appended')
    Object.assign(parts.failing, { chain: 'before', waiting: null })
    for (const each of all.slice(2)) expect(await writer.append([each])).toBe('waiting')
    parts.failing.chain = null
    await parts.move()
    expect((await parts.lines()).map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted())
    expect(parts.faults).toEqual([])
  },
)

test('Several processes that move waiting batches at the same time store each line once, and find no fault', async () => {
  const parts = await trail()
  const processes = Array.from({ length: 3 }, () => processOn(parts))
  const all = entries(180)
  parts.failing.chain = 'before'
  for (const [index, each] of all.entries()) await processes[index % 3]?.writer.append([each])
  parts.failing.chain = null
  await Promise.all([parts.move(), parts.move(), parts.move()])
  expect((await parts.lines()).map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted())
  expect(parts.faults).toEqual([])
  expect(parts.rows.size).toBe(0)
})

test('Waiting batches that a restored machine has again are not stored a second time', async () => {
  const parts = await trail()
  const { writer } = processOn(parts)
  parts.failing.chain = 'before'
  for (const each of entries(3)) await writer.append([each])
  const backup = [...parts.rows]
  parts.failing.chain = null
  await parts.move()
  for (const [key, row] of backup) parts.rows.set(key, row)
  await parts.move()
  expect(await parts.lines()).toHaveLength(3)
  expect([parts.faults, parts.rows.size]).toEqual([[], 0])
})

test('A waiting batch that was changed, and batches that were removed in between, are reported and recorded in the chain', async () => {
  const parts = await trail()
  const { writer } = processOn(parts)
  const all = entries(120)
  parts.failing.chain = 'before'
  for (const each of all) await writer.append([each])
  parts.failing.chain = null
  const keys = [...parts.rows.keys()].sort()
  const change = (index: number, to: (row: WaitingBatch) => Partial<WaitingBatch>) => {
    const row = parts.rows.get(keys[index] ?? '') as WaitingBatch
    parts.rows.set(keys[index] ?? '', { ...row, ...to(row) })
  }
  change(3, () => ({ lines: JSON.stringify([lineOf(entry())]) }))
  change(5, () => ({ lines: 'no list' }))
  // The first batch of the second page.
  parts.rows.delete(keys[50] ?? '')
  await parts.move()
  const found = [
    { kind: 'changed', position: 4 },
    { kind: 'changed', position: 6 },
    { kind: 'removed', position: 52 },
  ]
  expect(parts.faults).toMatchObject(found)
  const recorded = (await parts.lines()).filter(({ event }) => event === 'audit_waiting_changed')
  expect(recorded).toMatchObject(found.map(({ kind, position }) => ({ reason: kind, details: { position } })))
  expect(await parts.lines()).toHaveLength(120 - 2 + 3)
})

test('A waiting batch whose number was changed to one that the chain has is recorded with its lines, and holds up no later line of its writer', async () => {
  const parts = await trail()
  const [first, second, third] = [processOn(parts), processOn(parts), processOn(parts)].map(({ writer }) => writer)
  await first?.append([entry()])
  await third?.append([entry()])
  parts.failing.chain = 'before'
  await first?.append([entry()])
  await second?.append([entry()])
  parts.failing.chain = null
  const [one, other] = [...parts.rows]
  if (one) parts.rows.set(one[0], { ...one[1], number: 1 })
  if (other) parts.rows.set(other[0], { ...other[1], writer: parts.appended[1] ?? '', number: 10 ** 9 })
  await parts.move()
  await third?.append([entry()])
  const events = (await parts.lines()).map(({ event }) => event)
  expect(events.filter((event) => event === 'audit_waiting_changed')).toHaveLength(2)
  expect(events.filter((event) => event === 'session_started')).toHaveLength(5)
})

test('A waiting batch whose lines the chain cannot store is recorded and removed, and the batches after it are moved', async () => {
  const parts = await trail()
  const { writer } = processOn(parts)
  parts.failing.chain = 'before'
  const all = entries(5)
  for (const each of all) await writer.append([each])
  const [, second, , fourth] = [...parts.rows.keys()].sort()
  for (const key of [second, fourth]) {
    const row = parts.rows.get(key ?? '') as WaitingBatch
    parts.rows.set(key ?? '', { ...row, lines: '[null]' })
  }
  await expect(parts.move()).rejects.toBeInstanceOf(StoreUnavailable)
  expect(parts.faults, 'nothing is reported while the chain is unavailable').toEqual([])
  parts.failing.chain = null
  await Promise.all([parts.move(), parts.move()])
  const lines = await parts.lines()
  expect(lines.filter(({ event }) => event === 'session_started')).toHaveLength(3)
  const recorded = lines.filter(({ event }) => event === 'audit_waiting_changed')
  expect(recorded).toMatchObject(
    [2, 4].flatMap((position) => ['changed', 'refused'].map((reason) => ({ reason, details: { position } }))),
  )
  expect(parts.rows.size).toBe(0)
})

test('A batch that was not changed, and that the chain refuses, stays, and the batches after it are moved', async () => {
  const parts = await trail()
  const { writer } = processOn(parts)
  parts.failing.chain = 'before'
  for (const each of entries(120)) await writer.append([each])
  parts.failing.chain = null
  const [first] = [...parts.rows].sort(([one], [other]) => (one < other ? -1 : 1))
  const { append } = parts.chain
  parts.chain.append = (batch) => (batch.writer === first?.[1].writer ? Promise.reject(new Error('a defect')) : append(batch))
  await expect(parts.move()).rejects.toThrow('a defect')
  expect([...parts.rows]).toEqual([first])
  parts.chain.append = append
  expect(await parts.move()).toBe(1)
  expect(await parts.lines()).toHaveLength(120)
  expect(parts.faults).toEqual([])
})

test('When the process stops, it moves no further batch, and another process moves the rest', async () => {
  const parts = await trail()
  const { writer } = processOn(parts)
  parts.failing.chain = 'before'
  for (const each of entries(3)) await writer.append([each])
  parts.failing.chain = null
  expect(await parts.move(AbortSignal.abort())).toBe(0)
  expect(parts.rows.size).toBe(3)
  expect(await parts.move()).toBe(3)
})

test('A process adds at most 100,000 waiting lines, and no process adds lines if a million wait', async () => {
  const parts = await trail()
  const { batches } = processOn(parts)
  const lines = Array.from({ length: 20_000 }, () => lineOf(entry()))
  const add = (number: number, by = batches) => by.add({ writer: 'w', number, at: NOW, lines })
  for (let number = 1; number <= 5; number++) await add(number)
  await expect(add(6)).rejects.toBeInstanceOf(StoreUnavailable)
  const full = { ...parts.waiting, countLines: async () => 990_000 }
  await expect(add(1, new WaitingBatches(full))).rejects.toBeInstanceOf(StoreUnavailable)
  await parts.move()
  batches.noteMoved(batches.lines)
  await add(6)
})

test('A process that may not move batches moves none, and one that no longer may stops after the page', async () => {
  const parts = await trail()
  const { writer } = processOn(parts)
  parts.failing.chain = 'before'
  for (const each of entries(120)) await writer.append([each])
  parts.failing.chain = null
  const { chain, waiting } = parts
  const moveWhile = (answers: boolean[]) =>
    moveWaitingBatches({ chain, waiting, now: () => NOW, note: () => undefined, mayMove: async () => answers.shift() ?? false })
  expect(await moveWhile([false])).toBe(0)
  expect(await moveWhile([true, false])).toBe(49)
  expect(parts.rows.size).toBe(71)
})
