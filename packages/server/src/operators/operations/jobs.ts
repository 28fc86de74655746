/** Long work that operators and users started. */
import type { Job } from '../../domain/model/records.ts'
import { readJob, readJobs, stopJob as stop } from '../../domain/operators/jobs.ts'
import type { Members } from '../members/member.ts'
import { Type } from './json-schema.ts'
import { column, columns, type RecordKind, type Subject, timeDisplay } from './operation.ts'
import { conflict, notFound } from './refusal.ts'
import { fieldsOf, nameSchema, refTo, textOrNull, time, timeOrNull, uuid } from './schemas.ts'
import { operationsOn } from './standard.ts'
import { formatCount } from './words.ts'

const EXAMPLE = '3d1c8f0a-5b7e-4e0c-9a44-1f2b6c8d9e70'

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
  stopped_by: [
    Type.Union([Type.String(), Type.Null()], { description: 'The id of the operator who stopped the job before its end.' }),
    ({ stoppedBy }) => stoppedBy ?? null,
  ],
})

const jobKind: RecordKind = {
  name: 'jobs',
  noun: 'job',
  words: 'Long work',
  schemas: [nameSchema('Job', Type.Object(fields.schemas))],
  scope: 'admin.grants',
  settings: 'clients',
  idName: 'job_id',
  displays: [
    ...columns('job_id', 'kind', 'client_id', 'started_by', 'grants_ended'),
    timeDisplay('created_at', 'Started', { column: 'STARTED' }),
    {
      ...column('STATE', 'done_at'),
      shown: ({ done_at: at, stopped_by: by }) => (at === null ? 'under way' : by === null ? 'done' : 'stopped'),
    },
  ],
  empty: 'No job was started yet.',
}
const { list, get, act, existing } = operationsOn(jobKind)

export const jobRecord = fields.read
export type JobRecord = ReturnType<typeof jobRecord>

export const listJobs = list<Members, JobRecord>({
  summary: 'Lists the last jobs, newest first.',
  answers: { done: 'The jobs.' },
  command: {
    about: 'The jobs that the admin API, the console and users started. A command does its work at once, and makes no job.',
    examples: [''],
  },
  run: async ({ service }) => ({ output: { items: (await readJobs(service.store)).toReversed().map(jobRecord) } }),
})

export const getJob = get<JobRecord>({
  summary: 'Reads the progress of a job.',
  command: { examples: [EXAMPLE] },
  run: async ({ service, id }) => ({ output: jobRecord(existing(await readJob(service.store, id), id)) }),
})

export const stopJob = act<Members, JobRecord>({
  id: 'stopJob',
  verb: 'stop',
  summary: 'Stops a job that an operator started.',
  description:
    'Grants that have ended stay ended. A client that was being deleted stays disabled. To go on, start the same work again. Repeating the request changes nothing.',
  refusals: ['conflict'],
  answers: { done: 'The job.' },
  output: refTo(jobKind.schemas[0]),
  command: {
    examples: [EXAMPLE],
    done: ({ grants_ended: ended }: JobRecord) => `Stopped after ${formatCount(ended, 'grant')}.`,
  },
  page: { link: 'Stop', done: 'The job is stopped.' },
  async question({ service, id }) {
    const { grantsEnded } = existing(await readJob(service.store, id), id)
    return {
      effect: `It ends no further grant. ${formatCount(grantsEnded, 'grant')} ended so far.`,
      notes: ['Grants that have ended stay ended. A client that was being deleted stays disabled.'],
    }
  },
  async run({ service, actor, id }) {
    const outcome = await stop(service.store, id, { operator: actor.id, at: service.now() })
    if (outcome.kind === 'unknown') throw notFound(jobKind.name, id)
    if (outcome.kind === 'of_wallet') throw conflict('The grants of a wallet end in this job, which cannot be stopped.')
    const { job } = outcome
    const details = { job_id: id, kind: job.kind, grants: job.grantsEnded }
    const client = job.clientId === '' ? {} : { client_id: job.clientId }
    return {
      output: jobRecord(job),
      ...(outcome.kind === 'stopped' && { act: { event: 'job_stopped', ...client, details } as const }),
    }
  },
})

export const jobs: Subject = { ...jobKind, operations: [listJobs, getJob, stopJob] }
