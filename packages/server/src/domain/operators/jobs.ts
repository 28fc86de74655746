/**
 * Long work that an operator or a user started. A job is stored before its work begins. If the process ends, another one continues the job:
 * the work ends the grants that have not ended yet, so it can be repeated.
 *
 * The jobs of operators and those that end the grants of a wallet are two lists with a lease each. Users can start the latter, so these
 * use up no place of an operator's job and wait for none.
 */
import { randomUUID } from 'node:crypto'
import { deleteClient, endOlderGrants } from '../consent/end-grants.ts'
import { endMatching, type GrantsMatching } from '../consent/end-matching.ts'
import type { Deps } from '../model/deps.ts'
import type { Job } from '../model/records.ts'
import { LATE_BY_AT_MOST } from '../model/request-store.ts'
import type { Store } from '../model/store.ts'

/** The list keeps this many jobs. Then each new job replaces the oldest one that is done. */
const JOBS_AT_MOST = 100
/**
 * An operator who has to end the grants of more clients at once can disable these clients first. If there is no place for the ending of a
 * wallet, the request itself ends all grants.
 */
const UNDER_WAY_AT_MOST = { jobs: 20, endings: 50 } as const

type ListName = keyof typeof UNDER_WAY_AT_MOST

export type NewJob = Pick<Job, 'clientId' | 'startedBy' | 'matching'> & {
  kind: 'end_grants_of_client' | 'delete_client' | 'end_matching_grants'
}

/**
 * Stores a job. A job of the same kind for the same client that is under way is returned instead, and is carried out once more for the grants of the
 * meantime. Null if too many are under way.
 */
export async function addJob({ lists }: Pick<Store, 'lists'>, job: NewJob, at: number): Promise<Job | null> {
  const added: Job = { ...job, ofWallet: null, id: randomUUID(), createdAt: at, grantsEnded: 0, doneAt: null }
  let result: Job | null = null
  const isSame = ({ kind, clientId, matching, doneAt }: Job): boolean =>
    doneAt === null && kind === job.kind && clientId === job.clientId && JSON.stringify(matching) === JSON.stringify(job.matching)
  await lists.changeList('jobs', (jobs) => {
    const present = jobs.find(isSame)
    if (!present) {
      result = isFull('jobs', jobs) ? null : added
      return result ? [...withoutOldest(jobs), added] : jobs
    }
    const again = { ...present, startedAgain: (present.startedAgain ?? 0) + 1, confirmedAt: at }
    result = again
    return jobs.map((each) => (each === present ? again : each))
  })
  return result
}

/** The same for the ending of a wallet. If one is under way for the same wallet and client, it also ends what is older than this epoch. */
async function addEnding(
  { lists }: Pick<Store, 'lists'>,
  { clientId, startedBy, grantsEnded, ...ofWallet }: Parameters<Deps['endings']['add']>[0],
  at: number,
): Promise<Job | null> {
  const added: Job = {
    kind: 'end_grants_of_wallet',
    clientId,
    ofWallet,
    startedBy,
    id: randomUUID(),
    createdAt: at,
    grantsEnded,
    doneAt: null,
  }
  let result: Job | null = null
  await lists.changeList('endings', (jobs) => {
    const present = jobs.find(
      (job) => job.doneAt === null && job.clientId === clientId && job.ofWallet?.wallet === ofWallet.wallet,
    )
    if (!present) {
      result = isFull('endings', jobs) ? null : added
      return result ? [...withoutOldest(jobs), added] : jobs
    }
    const epoch = Math.max(ofWallet.epoch, present.ofWallet?.epoch ?? 0)
    const extended = { ...present, ofWallet: { ...ofWallet, epoch }, grantsEnded: present.grantsEnded + grantsEnded }
    result = extended
    return jobs.map((job) => (job === present ? extended : job))
  })
  return result
}

/** The jobs of both lists, in the order in which they were started. */
export async function readJobs({ lists }: Pick<Store, 'lists'>): Promise<Job[]> {
  const all = await Promise.all([lists.readList('jobs'), lists.readList('endings')])
  return all.flat().toSorted((a, b) => a.createdAt - b.createdAt)
}

export async function readJob(store: Pick<Store, 'lists'>, id: string): Promise<Job | null> {
  return (await readJobs(store)).find((job) => job.id === id) ?? null
}

export type StopOutcome =
  | { kind: 'stopped'; job: Job }
  | { kind: 'done_before'; job: Job }
  | { kind: 'unknown' }
  | { kind: 'of_wallet' }

/**
 * Stops a job: within a second, its worker ends no further grant. The endings that users start cannot be stopped, because their page says that the
 * grants end.
 */
export async function stopJob(
  { lists }: Pick<Store, 'lists'>,
  id: string,
  by: { operator: string; at: number },
): Promise<StopOutcome> {
  let before: Job | undefined
  const jobs = await lists.changeList('jobs', (present) => {
    before = present.find((job) => job.id === id)
    return present.map((job) => (job.id === id && job.doneAt === null ? { ...job, doneAt: by.at, stoppedBy: by.operator } : job))
  })
  const job = jobs.find((each) => each.id === id)
  if (job) return { kind: before?.doneAt === null ? 'stopped' : 'done_before', job }
  return { kind: (await lists.readList('endings')).some((each) => each.id === id) ? 'of_wallet' : 'unknown' }
}

/** The endings of wallets, for the requests of users. */
export function endingsOf(store: Pick<Store, 'lists'>): Deps['endings'] {
  return {
    add: (ending, at) => addEnding(store, ending, at),
    read: async (id) => (await store.lists.readList('endings')).find((job) => job.id === id) ?? null,
  }
}

const LEASE = { seconds: 60, renewedEvery: 20 } as const

/**
 * Milliseconds of pause after each step, in which refreshes are processed (docs/evidence/performance.md, *a wallet ends 300,000 grants*).
 */
const PAUSE = 20

type Work = {
  store: Store
  announceEnded: Deps['announceEnded']
  now: () => number
  note: (job: Job) => Promise<void>
  pause: (milliseconds: number) => Promise<unknown>
}

/**
 * Returns a function that carries out all jobs of a list that are under way, one after the other. One node works at a time: the function
 * does nothing while another node has the lease, and stops when the lease is lost. `note` is called before a job is stored as done: if the
 * process ends between the two, the job is noted twice instead of never.
 */
export function createJobWorker(list: ListName, work: Work): (stopping?: AbortSignal) => Promise<void> {
  const { store, now, note, pause } = work
  const holder = randomUUID()
  let leasedAt = 0

  async function takeLease(): Promise<boolean> {
    const at = now()
    const isTaken = (await store.cleaning.takeLease(list, holder, at, LEASE.seconds)) === 'taken'
    if (isTaken) leasedAt = at
    return isTaken
  }

  const keepLease = async (): Promise<boolean> => now() - leasedAt < LEASE.renewedEvery || takeLease()

  const isUnderWay = async ({ id }: Job): Promise<boolean> =>
    (await store.lists.readList(list)).some((job) => job.id === id && job.doneAt === null)

  /** False if the work must stop: the process ends, or the lease is lost. */
  async function carryOut(job: Job, stopping: AbortSignal | undefined): Promise<boolean> {
    let noted = { grants: 0, at: now() }
    let ended = 0
    let goesOn = true
    // Stopped while the worker carried out another job.
    if (!(await isUnderWay(job))) return true
    for await (const number of stepsOf(work, job)) {
      ended += number
      // The progress is stored about once a second.
      if (now() !== noted.at) {
        const present = await noteProgress(work, list, { job, grants: ended - noted.grants })
        noted = { grants: ended, at: now() }
        if (present?.doneAt !== null) break
      }
      goesOn = !stopping?.aborted && (await keepLease())
      if (!goesOn) break
      await pause(PAUSE)
    }
    const left = await noteProgress(work, list, { job, grants: ended - noted.grants })
    if (!goesOn || left?.doneAt !== null) return goesOn
    // The job was extended or started again meanwhile. The next run goes on.
    if (!isAsBefore(left, job)) return true
    await note(left)
    await noteDone(work, list, job)
    return true
  }

  return async (stopping) => {
    const underWay = (await store.lists.readList(list)).filter(({ doneAt }) => doneAt === null)
    if (underWay.length === 0 || !(await takeLease())) return
    for (const job of underWay) if (stopping?.aborted || !(await carryOut(job, stopping))) return
  }
}

function stepsOf({ store, announceEnded, now }: Work, job: Job): AsyncGenerator<number> {
  const { clientId, ofWallet, createdAt } = job
  if (!ofWallet) return stepsOfJob(store, job, now)
  return endOlderGrants({ store, announceEnded }, { ...ofWallet, clientId: clientId || undefined, now, since: createdAt })
}

/**
 * Carries out the work of a job. Yields how many grants ended after each step. The caller may stop, and repeat the call.
 *
 * An operator confirms the ending of the grants that exist. A grant that a user allows later stays, however long the job takes. Only the deletion of a
 * client, which is disabled, ends all of its grants.
 */
export function stepsOfJob(
  store: Store,
  job: Pick<Job, 'kind' | 'clientId' | 'matching' | 'createdAt' | 'confirmedAt'>,
  now: () => number,
): AsyncGenerator<number> {
  const { kind, clientId } = job
  if (kind === 'delete_client') return deleteClient(store, clientId, now)
  const matching = kind === 'end_matching_grants' ? matchingOf(job) : { clientId }
  const createdBefore = Math.min(matching.createdBefore ?? Number.POSITIVE_INFINITY, endOfConfirmed(job))
  return endMatching(store, { ...matching, createdBefore }, { reason: 'operator', now })
}

/** Every grant that existed at the confirmation was created before this second. Its time can be later than that of the job. */
function endOfConfirmed({ createdAt, confirmedAt = createdAt }: Pick<Job, 'createdAt' | 'confirmedAt'>): number {
  return confirmedAt + LATE_BY_AT_MOST + 1
}

/** For the audit trail. */
export function conditionsOf(matching: Job['matching']): Record<string, string | number> {
  const { scope = null, createdBefore = null } = matching ?? {}
  return { ...(scope !== null && { scope }), ...(createdBefore !== null && { created_before: createdBefore }) }
}

/** The conditions of a job. A job without any ends nothing: it was not started by `addJob`. */
export function matchingOf({ clientId, matching }: Pick<Job, 'clientId' | 'matching'>): GrantsMatching {
  const { wallet, scope, createdBefore } = matching ?? { wallet: null, scope: null, createdBefore: 0 }
  return {
    clientId: clientId || undefined,
    wallet: wallet ?? undefined,
    scope: scope ?? undefined,
    createdBefore: createdBefore ?? undefined,
  }
}

async function noteProgress(
  { store: { lists } }: Work,
  list: ListName,
  { job: { id }, grants }: { job: Job; grants: number },
): Promise<Job | undefined> {
  const jobs = await lists.changeList(list, (present) =>
    present.map((job) => (job.id === id ? { ...job, grantsEnded: job.grantsEnded + grants } : job)),
  )
  return jobs.find((job) => job.id === id)
}

function isAsBefore(job: Job, before: Job): boolean {
  return job.ofWallet?.epoch === before.ofWallet?.epoch && job.startedAgain === before.startedAgain
}

/** A job that was extended or started again meanwhile is not done. */
async function noteDone({ store: { lists }, now }: Work, list: ListName, before: Job): Promise<void> {
  const isDone = (job: Job): boolean => job.id === before.id && isAsBefore(job, before)
  await lists.changeList(list, (present) => present.map((job) => (isDone(job) ? { ...job, doneAt: job.doneAt ?? now() } : job)))
}

function isFull(list: ListName, jobs: Job[]): boolean {
  return jobs.filter(({ doneAt }) => doneAt === null).length >= UNDER_WAY_AT_MOST[list]
}

function withoutOldest(jobs: Job[]): Job[] {
  const oldest = jobs.find(({ doneAt }) => doneAt !== null)
  return jobs.length < JOBS_AT_MOST ? jobs : jobs.filter((job) => job !== oldest)
}
