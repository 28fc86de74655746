/**
 * The id of a request, and one line per completed request: method, route, status, duration, request id. Never a query,
 * a header or a body. The id is in the response (`X-Request-Id`), in the request line (`reqId`) and in the audit lines
 * (`request_id`).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Metrics } from './metrics.ts'

/** For fastify's `genReqId`. The caller's own X-Request-Id is ignored: otherwise any caller could write into the log. */
export function newRequestId(): string {
  return randomUUID()
}

const requestId = new AsyncLocalStorage<string>()

/** The id of the request that this code runs for; undefined in background work. */
export function currentRequestId(): string | undefined {
  return requestId.getStore()
}

/** Adds the request log to a server whose own request logging is off, and counts requests if there are metrics. */
export function logRequests(server: FastifyInstance, metrics?: Pick<Metrics, 'observeRequest'>): void {
  server.addHook('onRequest', (request, reply, done) => {
    done(void reply.header('x-request-id', request.id))
  })
  // After the body: the body's events come from the connection and would lose the id.
  server.addHook('preHandler', (request, _reply, done) => requestId.run(request.id, done))
  server.addHook('onResponse', (request, reply, done) => {
    // The route's pattern, not the requested path: the caller chooses the path, which may contain anything.
    const route = request.routeOptions.url ?? 'unmatched'
    const { method } = request
    const { elapsedTime, statusCode: status } = reply
    const level = route.startsWith('/health/') ? 'debug' : 'info'
    request.log[level]({ method, route, status, ms: Math.round(elapsedTime * 10) / 10 }, 'request')
    metrics?.observeRequest({ route, method, status, seconds: elapsedTime / 1000 })
    done()
  })
}
