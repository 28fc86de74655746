/** Jobs that take long: a reader of the endings finds each one, however long ago its job began, and later grants stay. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { PAGE } from '../../../src/domain/model/pages.ts'
import type { Grant } from '../../../src/domain/model/records.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { addJob, createJobWorker, endingsOf } from '../../../src/domain/operators/jobs.ts'
import { keyOf, readerOf } from './ending-order.ts'
import { livingGrant, NOW, newGrant, type Subject, someClient, someWallet } from './subject.ts'

const STARTED_BY = someWallet()
/** Seconds from one page of a job to the next. A first read of the endings returns those of one hour. */
const PAGE_TAKES = 2000

type ListName = Parameters<typeof createJobWorker>[0]

/** The jobs that end the grants of this client and of this wallet. */
const JOBS: Record<string, (store: Store, of: Pick<Grant, 'clientId' | 'wallet'>) => Promise<ListName>> = {
  async 'the grants of a client'(store, { clientId }) {
    await addJob(store, { kind: 'end_grants_of_client', clientId, startedBy: STARTED_BY }, NOW)
    return 'jobs'
  },
  async 'a client with its grants'(store, { clientId }) {
    await addJob(store, { kind: 'delete_client', clientId, startedBy: STARTED_BY }, NOW)
    return 'jobs'
  },
  async 'the grants with a scope'(store) {
    const matching = { wallet: null, scope: 'enhancement', createdBefore: null }
    await addJob(store, { kind: 'end_matching_grants', clientId: '', matching, startedBy: STARTED_BY }, NOW)
    return 'jobs'
  },
  async 'the grants of a wallet'(store, { wallet }) {
    const epoch = await store.wallets.raiseEpoch(wallet)
    await endingsOf(store).add({ wallet, clientId: '', epoch, reason: 'user', startedBy: wallet, grantsEnded: 0 }, NOW)
    return 'endings'
  },
}

/** All but the deletion of a client, which is disabled first: it gets no grant after the confirmation. */
const BULK_ENDINGS = Object.entries(JOBS).filter(([what]) => what !== 'a client with its grants')

export function jobsContract(subject: Subject): void {
  test.for(BULK_ENDINGS)(
    'A job that ends %s leaves what a user allows after its confirmation, however long it takes',
    async ([, add]) => {
      const [store] = subject().nodes
      const [{ id: clientId }, wallet] = [someClient(), someWallet()]
      const before = await Promise.all(Array.from({ length: PAGE }, () => livingGrant(store, { clientId, wallet })))
      const list = await add(store, { clientId, wallet })
      // Last in every list, so the first pass finds it.
      const later = newGrant({
        id: 'ffffffff-ffff-4fff-bfff-ffffffffffff',
        clientId,
        wallet,
        epoch: await store.wallets.readEpoch(wallet),
      })
      let at = NOW
      await createJobWorker(list, {
        store,
        announceEnded: () => {},
        now: () => at,
        note: async () => {},
        async pause() {
          at = NOW + 71
          await store.grants.redeemCode(later, 'sign-in', at)
        },
      })()
      expect(await store.grants.readGrant(later.id)).toMatchObject({ createdAt: NOW + 71, endedAt: null })
      for (const { id } of before) expect(await store.grants.readGrant(id)).toMatchObject({ endedAt: NOW })
    },
  )

  test('A job whose ending is confirmed again while it is under way also ends what was allowed until then', async () => {
    const [store] = subject().nodes
    const { id: clientId } = someClient()
    const confirm = (at: number) => addJob(store, { kind: 'end_grants_of_client', clientId, startedBy: STARTED_BY }, at)
    await confirm(NOW)
    const grants = [newGrant({ clientId }), newGrant({ clientId })]
    for (const [index, grant] of grants.entries()) await store.grants.redeemCode(grant, randomUUID(), NOW + 100 * (index + 1))
    await confirm(NOW + 100)
    const now = () => NOW + 300
    await createJobWorker('jobs', { store, announceEnded: () => {}, now, note: async () => {}, pause: async () => {} })()
    const read = await Promise.all(grants.map(({ id }) => store.grants.readGrant(id)))
    expect(read.map((grant) => grant?.endedAt)).toEqual([NOW + 300, null])
  })

  test.for(Object.entries(JOBS))(
    'If a job ends %s for longer than access tokens live, each ending has the time of its page, and every reader gets the endings of the last lifetime',
    async ([, add]) => {
      const [store, other] = subject().nodes
      const [{ id: clientId }, wallet] = [someClient(), someWallet()]
      await store.clients.insertClient({ ...someClient(), id: clientId })
      const grants = await Promise.all(Array.from({ length: 3 * PAGE }, () => livingGrant(store, { clientId, wallet })))
      const read = readerOf(other)
      await read(NOW)
      let at = NOW
      const timeOf = new Map<string, number>()
      const readAll = async () => {
        for (const ending of await read(at)) if (ending.kind === 'grant') timeOf.set(keyOf(ending), ending.at)
      }
      await createJobWorker(await add(store, { clientId, wallet }), {
        store,
        announceEnded: () => {},
        now: () => at,
        note: async () => {},
        async pause() {
          await readAll()
          at += PAGE_TAKES
        },
      })()
      await readAll()
      expect([...timeOf.keys()].toSorted()).toEqual(grants.map(({ id }) => id).toSorted())
      expect(new Set(timeOf.values())).toEqual(new Set([NOW, NOW + PAGE_TAKES, NOW + 2 * PAGE_TAKES]))
      const recent = (await readerOf(store)(NOW + 2 * PAGE_TAKES)).filter(({ kind }) => kind === 'grant')
      expect(recent.map(keyOf).toSorted()).toEqual([...timeOf.keys()].filter((id) => timeOf.get(id) !== NOW).toSorted())
    },
  )
}
