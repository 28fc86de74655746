/** Long work that operators started. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { readJob, readJobs } from '../../domain/operators/jobs.ts'
import type { Admin } from '../admin.ts'
import { addOperation } from '../operation.ts'
import { notFound } from '../problem.ts'
import { jobRecord } from '../records.ts'
import { idParams, jobSchema } from '../schemas.ts'

const tag = 'jobs'

export function jobRoutes(server: FastifyInstance, admin: Admin): void {
  addListJobs(server, admin)
  addGetJob(server, admin)
}

function addListJobs(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/jobs',
      id: 'listJobs',
      tag,
      summary: 'Lists the last jobs, newest first.',
      scope: 'admin.read',
      answers: { 200: { description: 'The jobs.', schema: Type.Object({ items: Type.Array(jobSchema) }) } },
    },
    async () => ({ items: (await readJobs(store)).toReversed().map(jobRecord) }),
  )
}

function addGetJob(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/jobs/:id',
      id: 'getJob',
      tag,
      summary: 'Reads the progress of a job.',
      scope: 'admin.read',
      params: idParams,
      answers: { 200: { description: 'The job.', schema: jobSchema } },
      refusals: [404],
    },
    async ({ params }) => {
      const job = await readJob(store, params.id)
      if (!job) throw notFound('job')
      return jobRecord(job)
    },
  )
}
