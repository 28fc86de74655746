/**
 * `/health/live`: the process answers. `/health/ready`: the store takes writes, the keys are loaded, and a database that
 * was put back from a backup has been confirmed.
 */
import type { FastifyInstance } from 'fastify'
import { JSON_HEADERS } from '../error-reply.ts'
import type { Service } from '../service.ts'

/** Seconds an answer about readiness is kept, so that probes cannot keep the disk busy. */
const KEPT_FOR = 1

export function healthRoutes(server: FastifyInstance, { deps }: Service): void {
  let checked = { at: Number.NEGATIVE_INFINITY, problem: Promise.resolve<string | null>(null) }

  async function problemNow(): Promise<string | null> {
    if (!deps.keys.isLoaded()) return 'keys_not_loaded'
    try {
      await deps.store.checkWritable()
      const restoration = await deps.store.restorations.readRestoration()
      return restoration && restoration.confirmedAt === null ? 'restored_unconfirmed' : null
    } catch {
      return 'store_not_writable'
    }
  }

  server.route({
    method: ['GET', 'HEAD'],
    url: '/health/live',
    handler: async (_request, reply) => reply.headers(JSON_HEADERS).send({ status: 'live' }),
  })
  server.route({
    method: ['GET', 'HEAD'],
    url: '/health/ready',
    handler: async (_request, reply) => {
      // Probes that arrive together share one look.
      if (Math.abs(deps.now() - checked.at) >= KEPT_FOR) checked = { at: deps.now(), problem: problemNow() }
      const problem = await checked.problem
      if (problem === null) return reply.headers(JSON_HEADERS).send({ status: 'ready' })
      return reply
        .code(503)
        .headers({ ...JSON_HEADERS, 'retry-after': '5' })
        .send({ status: 'unavailable', problem })
    },
  })
}
