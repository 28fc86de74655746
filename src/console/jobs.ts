/** The pages of long work. */
import { COUNTED_AT_MOST } from '../operations/clients.ts'
import { walletOf } from '../operations/grants.ts'
import { getJob, type JobRecord, listJobs } from '../operations/jobs.ts'
import { type JobView, jobPage, jobsPage } from '../pages/console/job-page.ts'
import { addPage, type Console, type Visit } from './visit.ts'

export function jobPages(console: Console): void {
  const { store } = console.service

  addPage(console, '/console/jobs', async (visit) =>
    jobsPage({ frame: visit.frame, jobs: await readJobViews(console, visit), now: visit.now }),
  )

  addPage(console, '/console/jobs/:id', async (visit) => {
    const { output: job } = await visit.run(getJob, { id: visit.params.id ?? '' })
    const isDone = job.done_at !== null
    const of = job.wallet === null ? { clientId: job.client_id } : { wallet: walletOf(job.wallet) }
    const count = isDone ? 0 : await store.grants.countUnendedGrants(of, COUNTED_AT_MOST)
    const left = isDone ? null : { count, atMost: COUNTED_AT_MOST }
    return jobPage({ frame: visit.frame, job: { ...(await viewOf(console, job)), left }, now: visit.now })
  })
}

export async function readJobViews(console: Console, visit: Visit): Promise<JobView[]> {
  const { items } = (await visit.run(listJobs)).output
  return Promise.all(items.map((job) => viewOf(console, job)))
}

async function viewOf({ service }: Console, job: JobRecord): Promise<JobView> {
  return { ...job, clientName: await service.nameOfClient(job.client_id), left: null }
}
