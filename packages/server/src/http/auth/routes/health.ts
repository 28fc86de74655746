/**
 * `/health/live`: the process responds. `/health/ready`: the process is not stopping, the store accepts writes, the
 * keys are loaded, and a restored database has been confirmed. If only the coordinator of a cluster is unavailable, the response is 200 with
 * what works: all nodes are in this state.
 */
import type { FastifyInstance } from 'fastify'
import { JSON_HEADERS } from '../error-reply.ts'
import type { HttpService } from '../service.ts'

const LIMITED = 'coordinator_unavailable'
/** What needs no coordinator, for clients that the node has used before. */
const WORKS_WITHOUT_COORDINATOR = ['sign_ins', 'tokens', 'endings']

/** Seconds for which the readiness result is cached, so that probes cannot keep the disk busy. */
const KEPT_FOR = 1

export function healthRoutes(server: FastifyInstance, { deps, isStopping, checkRows }: HttpService): void {
  let checked = { at: Number.NEGATIVE_INFINITY, problem: Promise.resolve<string | null>(null) }

  async function problem(): Promise<string | null> {
    // Not cached: a load balancer must get this response before the listener closes.
    if (isStopping?.()) return 'stopping'
    // Concurrent probes share one check.
    if (Math.abs(deps.now() - checked.at) >= KEPT_FOR) checked = { at: deps.now(), problem: checkReadiness() }
    return checked.problem
  }

  async function checkReadiness(): Promise<string | null> {
    if (!deps.keys.isLoaded()) return 'keys_not_loaded'
    try {
      await deps.store.checkWritable()
      const restoration = await deps.store.restorations.readRestoration()
      return restoration && restoration.confirmedAt === null ? 'restored_unconfirmed' : null
    } catch {
      return (await canServeRows()) ? LIMITED : 'store_not_writable'
    }
  }

  async function canServeRows(): Promise<boolean> {
    try {
      await checkRows()
      return true
    } catch {
      return false
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
      const problemName = await problem()
      if (problemName === null) return reply.headers(JSON_HEADERS).send({ status: 'ready' })
      if (problemName === LIMITED)
        return reply.headers(JSON_HEADERS).send({ status: 'limited', problem: problemName, works: WORKS_WITHOUT_COORDINATOR })
      return reply
        .code(503)
        .headers({ ...JSON_HEADERS, 'retry-after': '5' })
        .send({ status: 'unavailable', problem: problemName })
    },
  })
}
