/**
 * Long work that an operator started. A job is stored before its work begins. If the process ends, another one continues the job: the
 * work ends the grants that have not ended yet, so it can be repeated.
 */
import { randomUUID } from 'node:crypto'
import { deleteClient, endGrantsOfClient } from '../consent/end-grants.ts'
import type { Job } from '../model/records.ts'
import type { Store } from '../model/store.ts'

/** The list keeps this many jobs. Then each new job replaces the oldest one that is done. */
const JOBS_AT_MOST = 100
/** An operator who has to end the grants of more clients at once can disable these clients first. */
const JOBS_UNDER_WAY_AT_MOST = 20

export type NewJob = Pick<Job, 'kind' | 'clientId' | 'startedBy'>

/** Stores a job. A job of the same kind for the same client that is under way is returned instead. Null if too many are under way. */
export async function addJob({ lists }: Pick<Store, 'lists'>, job: NewJob, at: number): Promise<Job | null> {
  const added: Job = { ...job, id: randomUUID(), createdAt: at, grantsEnded: 0, doneAt: null }
  let result: Job | null = null
  await lists.changeList('jobs', (jobs) => {
    const present = jobs.find(({ kind, clientId, doneAt }) => doneAt === null && kind === job.kind && clientId === job.clientId)
    const isFull = jobs.filter(({ doneAt }) => doneAt === null).length >= JOBS_UNDER_WAY_AT_MOST
    result = present ?? (isFull ? null : added)
    if (result !== added) return jobs
    return [...withoutOldest(jobs), added]
  })
  return result
}

export async function readJobs({ lists }: Pick<Store, 'lists'>): Promise<Job[]> {
  return lists.readList('jobs')
}

export async function readJob(store: Pick<Store, 'lists'>, id: string): Promise<Job | null> {
  return (await readJobs(store)).find((job) => job.id === id) ?? null
}

const LEASE = { name: 'jobs', seconds: 60, renewedEvery: 20 } as const

/**
 * Milliseconds of pause after each step. Without the pause, the 99th percentile of refreshes beside a job was three times as high on SQLite
 * (`npm run bench -- jobs`).
 */
const PAUSE = 20

type Work = { store: Store; now: () => number; note: (job: Job) => void; pause: (milliseconds: number) => Promise<unknown> }

/**
 * Returns a function that carries out all jobs that are under way, one after the other. One node works at a time: the function does nothing
 * while another node has the lease, and stops when the lease is lost. `note` is called before a job is stored as done: if the process ends
 * between the two, the job is noted twice instead of never.
 */
export function createJobWorker({ store, now, note, pause }: Work): (stopping?: AbortSignal) => Promise<void> {
  const holder = randomUUID()
  let leasedAt = 0

  async function takeLease(): Promise<boolean> {
    const at = now()
    const isTaken = (await store.cleaning.takeLease(LEASE.name, holder, at, LEASE.seconds)) === 'taken'
    if (isTaken) leasedAt = at
    return isTaken
  }

  const keepLease = async (): Promise<boolean> => now() - leasedAt < LEASE.renewedEvery || takeLease()

  /** False if the work must stop: the process ends, or the lease is lost. */
  async function work(job: Job, stopping: AbortSignal | undefined): Promise<boolean> {
    let noted = { grants: 0, at: now() }
    let ended = 0
    let goesOn = true
    for await (const number of stepsOf(store, job, now())) {
      ended += number
      // The progress is stored about once a second.
      if (now() !== noted.at) {
        await noteProgress(store, job.id, ended - noted.grants)
        noted = { grants: ended, at: now() }
      }
      goesOn = !stopping?.aborted && (await keepLease())
      if (!goesOn) break
      await pause(PAUSE)
    }
    const left = await noteProgress(store, job.id, ended - noted.grants)
    if (!goesOn || left?.doneAt !== null) return goesOn
    note(left)
    await noteDone(store, job.id, now())
    return true
  }

  return async (stopping) => {
    const underWay = (await readJobs(store)).filter(({ doneAt }) => doneAt === null)
    if (underWay.length === 0 || !(await takeLease())) return
    for (const job of underWay) if (stopping?.aborted || !(await work(job, stopping))) return
  }
}

/** Carries out the work of a job. Yields how many grants ended after each step. The caller may stop, and repeat the call. */
export function stepsOf(store: Store, { kind, clientId }: Pick<Job, 'kind' | 'clientId'>, at: number): AsyncGenerator<number> {
  return kind === 'delete_client'
    ? deleteClient(store, clientId, at)
    : endGrantsOfClient(store, clientId, { reason: 'operator', at })
}

async function noteProgress({ lists }: Pick<Store, 'lists'>, id: string, grants: number): Promise<Job | undefined> {
  const jobs = await lists.changeList('jobs', (present) =>
    present.map((job) => (job.id === id ? { ...job, grantsEnded: job.grantsEnded + grants } : job)),
  )
  return jobs.find((job) => job.id === id)
}

async function noteDone({ lists }: Pick<Store, 'lists'>, id: string, at: number): Promise<void> {
  await lists.changeList('jobs', (present) => present.map((job) => (job.id === id ? { ...job, doneAt: job.doneAt ?? at } : job)))
}

function withoutOldest(jobs: Job[]): Job[] {
  const oldest = jobs.find(({ doneAt }) => doneAt !== null)
  return jobs.length < JOBS_AT_MOST ? jobs : jobs.filter((job) => job !== oldest)
}
