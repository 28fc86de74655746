/** Long work that operators and users started. */
import type { Job } from '../../domain/model/records.ts'
import { readJob, readJobs } from '../../domain/operators/jobs.ts'
import type { Members } from '../members/member.ts'
import { Type } from './json-schema.ts'
import type { RecordKind, Subject } from './operation.ts'
import { fieldsOf, nameSchema, textOrNull, time, timeOrNull, uuid } from './schemas.ts'
import { operationsOn } from './standard.ts'

const fields = fieldsOf<Job>()({
  job_id: [uuid, ({ id }) => id],
  kind: [Type.Enum(['end_grants_of_client', 'delete_client', 'end_grants_of_wallet', 'end_matching_grants']), ({ kind }) => kind],
  client_id: [Type.String({ description: 'Empty if the grants at all clients end.' }), ({ clientId }) => clientId],
  wallet: [textOrNull, ({ ofWallet, matching }) => ofWallet?.wallet ?? matching?.wallet ?? null],
  scope: [
    Type.Union([Type.String(), Type.Null()], { description: 'Only grants with this scope end.' }),
    ({ matching }) => matching?.scope ?? null,
  ],
  created_before: [timeOrNull, ({ matching }) => matching?.createdBefore ?? null],
  started_by: [
    Type.String({ description: 'The id of the operator, or the address of the wallet if its user started the job.' }),
    ({ startedBy }) => startedBy,
  ],
  created_at: [time, ({ createdAt }) => createdAt],
  grants_ended: [Type.Integer(), ({ grantsEnded }) => grantsEnded],
  done_at: [timeOrNull, ({ doneAt }) => doneAt],
})

const jobKind: RecordKind = {
  name: 'jobs',
  noun: 'job',
  words: 'Long work',
  schemas: [nameSchema('Job', Type.Object(fields.schemas))],
  scope: 'admin.grants',
  settings: 'clients',
  idName: 'job_id',
  displays: [],
  empty: 'No job was started yet.',
}
const { list, get, existing } = operationsOn(jobKind)

export const jobRecord = fields.read
export type JobRecord = ReturnType<typeof jobRecord>

export const listJobs = list<Members, JobRecord>({
  summary: 'Lists the last jobs, newest first.',
  answers: { done: 'The jobs.' },
  // Commands do their work at once, and make no job.
  command: null,
  run: async ({ service }) => ({ output: { items: (await readJobs(service.store)).toReversed().map(jobRecord) } }),
})

export const getJob = get<JobRecord>({
  summary: 'Reads the progress of a job.',
  command: null,
  run: async ({ service, id }) => ({ output: jobRecord(existing(await readJob(service.store, id), id)) }),
})

export const jobs: Subject = { ...jobKind, operations: [listJobs, getJob] }
