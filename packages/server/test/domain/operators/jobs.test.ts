import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Job } from '../../../src/domain/model/records.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { addJob, createJobWorker, readJob, stopJob } from '../../../src/domain/operators/jobs.ts'
import { livingGrant, NOW, someClient, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

const GRANTS = 120

async function clientWithGrants(store: Store) {
  const client = someClient()
  await store.clients.insertClient(client)
  const grants = []
  for (let n = 0; n < GRANTS; n++) grants.push(await livingGrant(store, { clientId: client.id }))
  return { client, grants, startedBy: someWallet() }
}

async function startedJob(store: Store, job: Parameters<typeof addJob>[1]): Promise<Job> {
  const added = await addJob(store, job, NOW)
  if (added === null) throw new Error('no job was added')
  return added
}

test('A job ends all grants of a client, reports how many, and is done', async () => {
  const [store] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  const job = await startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy })
  const done: Job[] = []
  await createJobWorker('jobs', {
    store,
    announceEnded: () => {},
    now: () => NOW,
    note: async (of) => void done.push(of),
    pause: async () => {},
  })()
  expect(await readJob(store, job.id)).toEqual({ ...job, grantsEnded: GRANTS, doneAt: NOW })
  expect(done.map(({ id }) => id)).toEqual([job.id])
  expect(await store.grants.countUnendedGrants({ clientId: client.id }, 1000)).toBe(0)
  expect(await store.clients.readClient(client.id)).toEqual(client)
})

test('A job that is started again while its work ends also ends the grants of the meantime', async () => {
  const [store] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  const start = () => startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy })
  const { id } = await start()
  let noted = 0
  const work = createJobWorker('jobs', {
    store,
    announceEnded: () => {},
    now: () => NOW,
    async note() {
      if (noted++ > 0) return
      await livingGrant(store, { clientId: client.id })
      expect((await start()).id).toBe(id)
    },
    pause: async () => {},
  })
  await work()
  await work()
  expect(await readJob(store, id)).toMatchObject({ grantsEnded: GRANTS + 1, doneAt: NOW })
  expect(await store.grants.countUnendedGrants({ clientId: client.id }, 1000)).toBe(0)
})

test('A job that deletes a client ends its grants first', async () => {
  const [store] = await openTwoNodes()
  const { client, grants, startedBy } = await clientWithGrants(store)
  await startedJob(store, { kind: 'delete_client', clientId: client.id, startedBy })
  await createJobWorker('jobs', { store, announceEnded: () => {}, now: () => NOW, note: async () => {}, pause: async () => {} })()
  expect(await store.clients.readClient(client.id)).toBeNull()
  expect((await store.grants.readGrant(grants[0]?.id ?? ''))?.endReason).toBe('client_deleted')
})

test('A job that was interrupted by the end of its process is continued by another node, and no grant is counted twice', async () => {
  const [store, other] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  const job = await startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy })
  // The process stops after the first page.
  const stopping = new AbortController()
  const half: Store = {
    ...store,
    grants: {
      ...store.grants,
      endGrants(...of) {
        stopping.abort()
        return store.grants.endGrants(...of)
      },
    },
  }
  await createJobWorker('jobs', {
    store: half,
    announceEnded: () => {},
    now: () => NOW,
    note: async () => {},
    pause: async () => {},
  })(stopping.signal)
  const interrupted = await readJob(store, job.id)
  expect(interrupted).toMatchObject({ doneAt: null })
  expect(interrupted?.grantsEnded).toBeGreaterThan(0)
  expect(interrupted?.grantsEnded).toBeLessThan(GRANTS)
  await createJobWorker('jobs', {
    store: other,
    announceEnded: () => {},
    now: () => NOW + 61,
    note: async () => {},
    pause: async () => {},
  })()
  expect(await readJob(store, job.id)).toMatchObject({ grantsEnded: GRANTS, doneAt: NOW + 61 })
})

test('While one node has the lease, another node does not work on the jobs', async () => {
  const [store, other] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  const job = await startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy })
  await store.cleaning.takeLease('jobs', randomUUID(), NOW, 60)
  await createJobWorker('jobs', {
    store: other,
    announceEnded: () => {},
    now: () => NOW + 1,
    note: async () => {},
    pause: async () => {},
  })()
  expect(await readJob(store, job.id)).toEqual(job)
})

/** The store of a node, with something that happens after each page of grants has ended. */
function afterEachPage(store: Store, then: () => Promise<void>): Store {
  return {
    ...store,
    grants: {
      ...store.grants,
      async endGrants(...of) {
        const ended = await store.grants.endGrants(...of)
        await then()
        return ended
      },
    },
  }
}

test('A node keeps the lease for as long as it works on a job, also if each page takes many seconds', async () => {
  const [store, other] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  await startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy })
  let at = NOW - (NOW % 20) + 1
  const attempts: string[] = []
  const slow = afterEachPage(store, async () => {
    at += 25
    attempts.push(await other.cleaning.takeLease('jobs', 'another node', at, 60))
  })
  await createJobWorker('jobs', {
    store: slow,
    announceEnded: () => {},
    now: () => at,
    note: async () => {},
    pause: async () => {},
  })()
  expect(attempts.length).toBeGreaterThan(2)
  expect(new Set(attempts)).toEqual(new Set(['held']))
})

test('A node that lost the lease stops, and does not undo what the next node stored', async () => {
  const [store, other] = await openTwoNodes()
  const jobs: Job[] = []
  for (const { client, startedBy } of [await clientWithGrants(store), await clientWithGrants(store)])
    jobs.push(await startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy }))
  let at = NOW
  const done: string[] = []
  const note = async ({ id }: Job) => void done.push(id)
  const next = createJobWorker('jobs', { store: other, announceEnded: () => {}, now: () => at, note, pause: async () => {} })
  const late = afterEachPage(store, async () => {
    if (at !== NOW) return
    at += 100
    await next()
  })
  await createJobWorker('jobs', { store: late, announceEnded: () => {}, now: () => at, note, pause: async () => {} })()
  expect(done).toEqual(jobs.map(({ id }) => id))
  for (const { id } of jobs) expect(await readJob(store, id)).toMatchObject({ grantsEnded: GRANTS, doneAt: NOW + 100 })
})

test('A job is noted before it is stored as done, so the end of the process in between loses no line of the audit trail', async () => {
  const [store] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  const job = await startedJob(store, { kind: 'delete_client', clientId: client.id, startedBy })
  const ending: Store = {
    ...store,
    lists: {
      ...store.lists,
      async changeList(...change) {
        const changed = await store.lists.changeList(...change)
        if ((await readJob(store, job.id))?.doneAt !== null) throw new Error('the process ends')
        return changed
      },
    },
  }
  const done: Job[] = []
  const work = createJobWorker('jobs', {
    store: ending,
    announceEnded: () => {},
    now: () => NOW,
    note: async (of) => void done.push(of),
    pause: async () => {},
  })
  await expect(work()).rejects.toThrow('the process ends')
  expect(done).toMatchObject([{ id: job.id, grantsEnded: GRANTS }])
})

test('A job that is under way is not started a second time', async () => {
  const [store] = await openTwoNodes()
  const job = { kind: 'end_grants_of_client', clientId: randomUUID(), startedBy: someWallet() } as const
  const first = await startedJob(store, job)
  const again = { ...first, startedAgain: 1, confirmedAt: NOW + 1 }
  expect(await addJob(store, { ...job, startedBy: someWallet() }, NOW + 1)).toEqual(again)
  expect(await readJob(store, first.id)).toEqual(again)
})

test('At most twenty jobs are under way, and of those that are done only the newest are kept', async () => {
  const [store] = await openTwoNodes()
  const add = () => addJob(store, { kind: 'delete_client', clientId: randomUUID(), startedBy: someWallet() }, NOW)
  for (let n = 0; n < 20; n++) expect(await add()).not.toBeNull()
  expect(await add()).toBeNull()
  const finish = () => store.lists.changeList('jobs', (jobs) => jobs.map((job) => ({ ...job, doneAt: NOW })))
  for (let n = 0; n < 100; n++) {
    await finish()
    expect(await add()).not.toBeNull()
  }
  expect(await store.lists.readList('jobs')).toHaveLength(100)
})

test('A job that is stopped ends no further grant, stays stopped, and a job that waits for it is not begun if it is stopped', async () => {
  const [store] = await openTwoNodes()
  const { client, startedBy } = await clientWithGrants(store)
  const other = await clientWithGrants(store)
  const { id } = await startedJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy })
  const waiting = await startedJob(store, { kind: 'end_grants_of_client', clientId: other.client.id, startedBy })
  let at = NOW
  const stop = (job: string) => stopJob(store, job, { operator: 'o', at })
  const noted: Job[] = []
  await createJobWorker('jobs', {
    store,
    announceEnded: () => {},
    now: () => at++,
    note: async (of) => void noted.push(of),
    pause: async () => {
      if ((await readJob(store, id))?.doneAt !== null) return
      expect(await stop(id)).toMatchObject({ kind: 'stopped' })
      expect(await stop(waiting.id)).toMatchObject({ kind: 'stopped' })
    },
  })()
  const stopped = await readJob(store, id)
  expect(stopped).toMatchObject({ stoppedBy: 'o', doneAt: expect.any(Number) })
  const left = await store.grants.countUnendedGrants({ clientId: client.id }, 1000)
  expect([left > 0, left + (stopped?.grantsEnded ?? 0)]).toEqual([true, GRANTS])
  expect(await store.grants.countUnendedGrants({ clientId: other.client.id }, 1000)).toBe(GRANTS)
  expect(noted).toEqual([])
  expect(await stop(id)).toMatchObject({ kind: 'done_before' })
  expect(await stop(randomUUID())).toEqual({ kind: 'unknown' })
})
