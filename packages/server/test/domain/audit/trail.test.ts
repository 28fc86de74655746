/** The queue of the audit trail in one process, on a SQLite store that can fail. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ChainWriter } from '../../../src/domain/audit/chain.ts'
import { newEntry } from '../../../src/domain/audit/entry.ts'
import { createAuditTrail, type TrailFault, type TrailOptions } from '../../../src/domain/audit/trail.ts'
import { hashOfLine } from '../../../src/domain/model/audit-chain.ts'
import { type AuditStore, NO_LINE } from '../../../src/domain/model/audit-store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { NOW } from '../../store/contract/subject.ts'
import { newSqlitePath } from '../../store/sqlite-file.ts'

/** How the next appends fail: before the commit, or after it, when only the response is lost. */
type Failure = 'before' | 'after' | null

async function trailOnSqlite(options: Partial<Pick<TrailOptions, 'pause' | 'waitingAtMost'>> = {}) {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  const failing: { how: Failure } = { how: null }
  const appended: number[] = []
  const audit: AuditStore = {
    ...store.audit,
    async append(batch) {
      if (failing.how === 'before') throw new StoreUnavailable('away')
      const outcome = await store.audit.append(batch)
      if (failing.how === 'after') throw new StoreUnavailable('the response was lost')
      appended.push(batch.lines.length)
      return outcome
    },
  }
  const faults: TrailFault[] = []
  const trail = createAuditTrail({
    store: audit,
    now: () => NOW,
    note: (fault) => faults.push(fault),
    // Shorter than in a service: the pauses between attempts, and the time for which a process that stops tries.
    pause: (milliseconds) => pauseFor(milliseconds === 2000 ? 500 : Math.min(milliseconds, 5)),
    ...options,
  })
  const texts = async () => (await store.audit.readLines({ after: 0, limit: 1000 })).map(({ line }) => line)
  return { store, trail, failing, appended, faults, texts }
}

const entryOf = (grantId: string) => newEntry({ at: NOW, event: 'grant_ended', reason: 'revoked', grantId })
const idOf = (line: string) => (JSON.parse(line) as { grant_id: string }).grant_id

test('Lines that are recorded together are appended in batches, in their order, and each call resolves after the commit', async () => {
  const { trail, appended, texts } = await trailOnSqlite()
  const names = Array.from({ length: 450 }, (_, index) => `g${index}`)
  const outcomes = await Promise.all(names.map((name) => trail.record(entryOf(name))))
  expect(new Set(outcomes)).toEqual(new Set(['written']))
  expect((await texts()).map(idOf)).toEqual(names)
  expect(appended).toEqual([1, 200, 200, 49])
})

test.each(['before', 'after'] as const)(
  'If appends fail %s the commit, the lines wait with one alarm, and are stored once when the store works again',
  async (how) => {
    const { store, trail, failing, faults, texts } = await trailOnSqlite()
    failing.how = how
    const recorded = Promise.all(['a', 'b', 'c'].map((name) => trail.record(entryOf(name))))
    await expect.poll(() => faults[0]?.kind).toBe('behind')
    await pauseFor(30)
    if (how === 'before') expect(faults).toHaveLength(1)
    failing.how = null
    expect(await recorded).toEqual(['written', 'written', 'written'])
    const lines = await store.audit.readLines({ after: 0, limit: 10 })
    expect((await texts()).map(idOf)).toEqual(['a', 'b', 'c'])
    let previous = NO_LINE
    for (const { line, hash } of lines) {
      expect(hash).toBe(hashOfLine(previous, line))
      previous = hash
    }
    expect(faults.at(-1)).toMatchObject({ kind: 'caught_up' })
  },
)

test('If too many lines wait, further lines are lost with one alarm, and the waiting lines are stored later', async () => {
  const { trail, failing, faults, texts } = await trailOnSqlite({ waitingAtMost: 3 })
  failing.how = 'before'
  const recorded = ['a', 'b', 'c', 'd', 'e'].map((name) => trail.record(entryOf(name)))
  expect(await recorded[3]).toBe('lost')
  expect(await recorded[4]).toBe('lost')
  expect(faults.filter(({ kind }) => kind === 'lost')).toHaveLength(1)
  failing.how = null
  expect(await Promise.all(recorded)).toEqual(['written', 'written', 'written', 'lost', 'lost'])
  expect((await texts()).map(idOf)).toEqual(['a', 'b', 'c'])
})

test('One client can fill a quarter of the room for waiting lines, and the lines of another client still wait and are stored', async () => {
  const { trail, failing, faults, texts } = await trailOnSqlite({ waitingAtMost: 20 })
  failing.how = 'before'
  const entry = (clientId: string) => newEntry({ at: NOW, event: 'access_token_revoked', clientId })
  for (let count = 0; count < 100; count++) trail.recordSoon(entry('loud'))
  const other = trail.record(entry('quiet'))
  await expect.poll(() => faults.map(({ kind }) => kind)).toEqual(['lost', 'behind'])
  failing.how = null
  expect(await other).toBe('written')
  const clients = (await texts()).map((line) => (JSON.parse(line) as { client_id: string }).client_id)
  expect(clients).toEqual([...Array<string>(5).fill('loud'), 'quiet'])
  trail.recordSoon(entry('loud'))
  await expect.poll(async () => (await texts()).length).toBe(7)
})

test('A process that stops appends the waiting lines; if the store is away, it gives up and reports how many are missing', async () => {
  const { trail, failing, faults, texts } = await trailOnSqlite()
  const written = trail.record(entryOf('a'))
  await trail.stop()
  expect(await written).toBe('written')
  expect(await trail.record(entryOf('late'))).toBe('lost')

  const second = await trailOnSqlite()
  second.failing.how = 'before'
  const lost = [second.trail.record(entryOf('b')), second.trail.record(entryOf('c'))]
  await second.trail.stop()
  expect(await Promise.all(lost)).toEqual(['lost', 'lost'])
  expect(second.faults.at(-1)).toEqual({ kind: 'stopped', lines: 2 })
  expect(failing.how).toBeNull()
  expect(faults.map(({ kind }) => kind)).toEqual(['lost'])
  expect((await texts()).map(idOf)).toEqual(['a'])
})

test("An operator's act is a line with the operator's name, and with a shortened address if the operator is a wallet", async () => {
  const { store, trail, texts } = await trailOnSqlite()
  const operator = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  await trail.record(
    newEntry({
      event: 'client_deleted',
      operator,
      at: NOW,
      clientId: 'c',
      wallet: operator,
      network: '203.0.113',
      requestId: 'r',
      details: { grants: 7 },
    }),
  )
  const [line = ''] = await texts()
  expect(JSON.parse(line)).toEqual({
    seq: 1,
    id: expect.any(String),
    at: NOW,
    event: 'client_deleted',
    result: 'done',
    operator: '0xf39F…2266',
    client_id: 'c',
    wallet: '0xf39F…2266',
    request_id: 'r',
    network: '203.0.113',
    details: { grants: 7 },
  })
  expect(await store.audit.searchLines({ operator, wallet: operator }, { limit: 2 })).toHaveLength(1)
})

test('Lines that no response waits for are gathered into one append, and come before later lines', async () => {
  const { trail, appended, texts } = await trailOnSqlite()
  const names = Array.from({ length: 50 }, (_, index) => `g${index}`)
  for (const name of names) trail.recordSoon(entryOf(name))
  await expect.poll(async () => (await texts()).map(idOf)).toEqual(names)
  expect(appended).toEqual([50])
  trail.recordSoon(entryOf('before'))
  await trail.record(entryOf('after'))
  expect((await texts()).slice(50).map(idOf)).toEqual(['before', 'after'])
  expect(appended).toEqual([50, 2])
})

test('After the end of the trail no pause is left, which would keep the process alive', async () => {
  const pauses: Promise<void>[] = []
  const pause = (_milliseconds: number, ended: AbortSignal) => {
    const over = new Promise<void>((resolve) => ended.addEventListener('abort', () => resolve()))
    pauses.push(over)
    return over
  }
  const { trail, texts } = await trailOnSqlite({ pause })
  trail.recordSoon(entryOf('a'))
  await trail.stop()
  expect((await texts()).map(idOf)).toEqual(['a'])
  expect(pauses.length).toBeGreaterThan(1)
  await Promise.all(pauses)
})

test('Many lines that no response waits for do not wait for the pause', async () => {
  const { trail, texts } = await trailOnSqlite({ pause: () => new Promise(() => {}) })
  for (let index = 0; index < 450; index++) trail.recordSoon(entryOf(`g${index}`))
  // The last 50 wait for a pause that never ends.
  await expect.poll(async () => (await texts()).length).toBe(400)
})

test('A process that stops appends the lines that are being gathered', async () => {
  const { trail, texts, faults } = await trailOnSqlite()
  trail.recordSoon(entryOf('last'))
  await trail.stop()
  expect((await texts()).map(idOf)).toEqual(['last'])
  expect(faults).toEqual([])
})

test('A writer reports that another server took over which lacks its batches, unless its last append is so long ago that its row was deleted', async () => {
  const clock = { at: NOW }
  const losses: number[] = []
  const { store } = await trailOnSqlite()
  const server = { name: 'a', lacks: false }
  const audit: AuditStore = { ...store.audit, append: async () => server.name, lacksBatches: async () => server.lacks }
  const writer = new ChainWriter(audit, () => clock.at, { noteLoss: () => losses.push(clock.at) })
  const append = (name: string, lacks: boolean) => {
    Object.assign(server, { name, lacks })
    clock.at += 60
    return writer.append([entryOf('a')])
  }
  await append('a', false)
  await append('b', false)
  expect(losses).toEqual([])
  await append('c', true)
  await append('c', true)
  expect(losses).toEqual([NOW + 180])
  clock.at += 24 * 3600
  await append('d', true)
  expect(losses).toHaveLength(1)
})

/** Records a line at each time, in seconds after the one before, and returns the reported faults. */
async function faultsOf(records: readonly (readonly [number, boolean])[]): Promise<string[]> {
  const clock = { at: NOW }
  const { store } = await trailOnSqlite()
  const works = { now: false }
  const faults: string[] = []
  const whileUnavailable = {
    batches: { add: async () => undefined },
    succeedsInTime: (append: Promise<unknown>) => append.then(() => works.now),
    pause: () => Promise.resolve(),
  }
  const trail = createAuditTrail({
    store: store.audit,
    now: () => clock.at,
    note: ({ kind }) => faults.push(kind),
    pause: () => pauseFor(1),
    whileUnavailable: () => whileUnavailable,
  })
  for (const [seconds, isInTime] of records) {
    clock.at += seconds
    works.now = isInTime
    await trail.record(entryOf('a'))
  }
  return faults
}

test('If appends succeed and fail in turn, one alarm reports that lines wait, and another only after a minute in which none came to wait', async () => {
  const records = [
    [0, false],
    [1, true],
    [1, false],
    [58, false],
    [59, true],
    [0, false],
    [60, false],
  ] as const
  expect(await faultsOf(records)).toEqual(['waiting', 'waiting'])
})

test('While lines come to wait, the alarm is repeated every ten minutes, also if the first lines were moved in between', async () => {
  const outage = Array.from({ length: 15 }, () => [58, false] as const)
  expect(await faultsOf([[0, false], [1, true], ...outage])).toEqual(['waiting', 'waiting'])
})
