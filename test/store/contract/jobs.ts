/** Jobs that take long: a reader of the endings finds each one, however long ago its job began. */
import { expect, test } from 'vitest'
import { PAGE } from '../../../src/domain/model/pages.ts'
import type { Grant } from '../../../src/domain/model/records.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { addJob, createJobWorker, endingsOf } from '../../../src/domain/operators/jobs.ts'
import { keyOf, readerOf } from './ending-order.ts'
import { livingGrant, NOW, type Subject, someClient, someWallet } from './subject.ts'

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
    return 'matching'
  },
  async 'the grants of a wallet'(store, { wallet }) {
    const epoch = await store.wallets.raiseEpoch(wallet)
    await endingsOf(store).add({ wallet, clientId: '', epoch, reason: 'user', startedBy: wallet, grantsEnded: 0 }, NOW)
    return 'endings'
  },
}

export function jobsContract(subject: Subject): void {
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
