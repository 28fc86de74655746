/** Long work that operators and users started. */
import { Type } from 'typebox'
import type { Job } from '../domain/model/records.ts'
import { readJob, readJobs } from '../domain/operators/jobs.ts'
import type { Members } from './members/member.ts'
import { defineOperation, type Listed, type Subject } from './operation.ts'
import { notFound } from './refusal.ts'
import { listOf, named, refTo, time, timeOrNull, uuid } from './schemas.ts'

const subject = 'jobs'

export const jobSchema = named(
  'Job',
  Type.Object({
    job_id: uuid,
    kind: Type.Enum(['end_grants_of_client', 'delete_client', 'end_grants_of_wallet']),
    client_id: Type.String({ description: 'Empty if the grants of a wallet at all clients end.' }),
    wallet: Type.Union([Type.String(), Type.Null()]),
    started_by: Type.String({ description: 'The id of the operator, or the address of the wallet if its user started the job.' }),
    created_at: time,
    grants_ended: Type.Integer(),
    done_at: timeOrNull,
  }),
)

export type JobRecord = ReturnType<typeof jobRecord>

export function jobRecord(job: Job) {
  return {
    job_id: job.id,
    kind: job.kind,
    client_id: job.clientId,
    wallet: job.ofWallet?.wallet ?? null,
    started_by: job.startedBy,
    created_at: job.createdAt,
    grants_ended: job.grantsEnded,
    done_at: job.doneAt,
  }
}

export const listJobs = defineOperation<Members, Listed<JobRecord>>({
  id: 'listJobs',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.read',
  summary: 'Lists the last jobs, newest first.',
  answers: { done: 'The jobs.' },
  output: listOf(jobSchema),
  // Commands do their work at once, and make no job.
  command: null,
  run: async ({ service }) => ({ output: { items: (await readJobs(service.store)).toReversed().map(jobRecord) } }),
})

export const getJob = defineOperation<Members, JobRecord>({
  id: 'getJob',
  subject,
  kind: 'get',
  verb: 'show',
  scope: 'admin.read',
  summary: 'Reads the progress of a job.',
  answers: { done: 'The job.' },
  output: refTo(jobSchema),
  command: null,
  async run({ service, id }) {
    const job = await readJob(service.store, id)
    if (!job) throw notFound(subject, id)
    return { output: jobRecord(job) }
  },
})

export const jobs: Subject = {
  name: subject,
  noun: 'job',
  words: 'Long work',
  settings: 'clients',
  idName: 'job_id',
  operations: [listJobs, getJob],
}
