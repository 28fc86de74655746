/** One line per answered request: method, route, status, duration, request id. Never a query, a header or a body. */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Metrics } from './metrics.ts'

/** For fastify's `genReqId`. A caller's own X-Request-Id is never taken over: it would let anybody write into the log. */
export function newRequestId(): string {
  return randomUUID()
}

/** Adds the request log to a server whose own request logging is off, and counts requests where there are metrics. */
export function logRequests(server: FastifyInstance, metrics?: Pick<Metrics, 'observeRequest'>): void {
  server.addHook('onResponse', (request, reply, done) => {
    // The route's pattern, not the path that was asked for: a path of the caller's choosing may hold anything.
    const route = request.routeOptions.url ?? 'unmatched'
    const { statusCode: status, elapsedTime } = reply
    const line = { method: request.method, route, status, ms: Math.round(elapsedTime * 10) / 10 }
    if (route.startsWith('/health/')) request.log.debug(line, 'request')
    else request.log.info(line, 'request')
    metrics?.observeRequest({ route, method: request.method, status, seconds: elapsedTime / 1000 })
    done()
  })
}
