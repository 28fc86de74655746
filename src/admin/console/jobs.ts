import { type JobView, jobPage, jobsPage } from '../../pages/console/job-page.ts'
import type { Admin } from '../admin.ts'
import type { jobRecord } from '../records.ts'
import { COUNTED_AT_MOST } from '../routes/clients.ts'
import { addPage, type Console, type Visit } from './console.ts'
import { nameOfClient, namesOfClients } from './names.ts'

type JobRecord = ReturnType<typeof jobRecord>

export function jobPages(console: Console): void {
  const { admin } = console
  const { deps, store } = admin

  addPage(console, '/console/jobs', async (visit) =>
    jobsPage({ frame: visit.frame, jobs: await readJobViews(admin, visit), now: deps.now() }),
  )

  addPage(console, '/console/jobs/:id', async (visit) => {
    const { body } = await visit.api<JobRecord>('GET', `/v1/jobs/${encodeURIComponent(visit.params.id ?? '')}`)
    const isDone = body.done_at !== null
    const count = isDone ? 0 : await store.grants.countUnendedGrants({ clientId: body.client_id }, COUNTED_AT_MOST)
    const left = isDone ? null : { count, atMost: COUNTED_AT_MOST }
    const job = { ...viewOf(body, await nameOfClient(admin, body.client_id)), left }
    return jobPage({ frame: visit.frame, job, now: deps.now() })
  })
}

export async function readJobViews(admin: Admin, { api }: Visit): Promise<JobView[]> {
  const { items } = (await api<{ items: JobRecord[] }>('GET', '/v1/jobs')).body
  const names = await namesOfClients(
    admin,
    items.map(({ client_id: id }) => id),
  )
  return items.map((job) => viewOf(job, names.get(job.client_id) ?? ''))
}

function viewOf(job: JobRecord, clientName: string): JobView {
  return {
    id: job.job_id,
    kind: job.kind,
    clientId: job.client_id,
    clientName,
    startedBy: job.started_by,
    createdAt: job.created_at,
    grantsEnded: job.grants_ended,
    left: null,
    doneAt: job.done_at,
  }
}
