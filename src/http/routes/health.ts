/** `/health/live`: the process answers. `/health/ready`: the store takes writes and the keys are loaded. */
import type { FastifyInstance } from 'fastify'
import { JSON_HEADERS } from '../error-reply.ts'
import type { Service } from '../service.ts'

/** Seconds an answer about readiness is kept, so that probes cannot keep the disk busy. */
const KEPT_FOR = 1

export function healthRoutes(server: FastifyInstance, { deps }: Service): void {
  let checked = { at: Number.NEGATIVE_INFINITY, problem: Promise.resolve<string | null>(null) }

  async function problemNow(): Promise<string | null> {
    if (!deps.keys.isLoaded()) return 'keys_not_loaded'
    return deps.store.checkWritable().then(
      () => null,
      () => 'store_not_writable',
    )
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
