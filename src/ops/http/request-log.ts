/**
 * The id of a request, and one line per completed request: method, route, status, duration, request id. Never a query,
 * a header or a body. The id is in the response (`X-Request-Id`), in the request line (`reqId`) and in the audit lines
 * (`request_id`).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics } from '../metrics/metrics.ts'
import { networkPrefix } from './network.ts'

/** For fastify's `genReqId`. The caller's own X-Request-Id is ignored: otherwise any caller could write into the log. */
export function newRequestId(): string {
  return randomUUID()
}

type RequestContext = {
  request: Pick<FastifyRequest, 'id' | 'ip'>
  /** the caller's address, if another server sent the request for the caller */
  callerAddress?: string
}

const context = new AsyncLocalStorage<RequestContext>()

/** The id of the request that this code runs for; undefined in background work. */
export function currentRequestId(): string | undefined {
  return context.getStore()?.request.id
}

/** The first part of the caller's address, such as `203.0.113`; undefined in background work, and if the address is unknown. */
export function currentNetwork(): string | undefined {
  const current = context.getStore()
  return networkPrefix(current?.callerAddress ?? current?.request.ip) || undefined
}

/** The caller's address, if another server sent the request for the caller. */
export function noteCallerAddress(ip: string): void {
  const current = context.getStore()
  if (current) current.callerAddress = ip
}

/** Adds the request log to a server whose own request logging is off, and counts requests if there are metrics. */
export function logRequests(server: FastifyInstance, metrics?: Pick<Metrics, 'observeRequest'>): void {
  server.addHook('onRequest', (request, reply, done) => {
    done(void reply.header('x-request-id', request.id))
  })
  // After the body: the body's events come from the connection and would lose the id.
  server.addHook('preHandler', (request, _reply, done) => context.run({ request }, done))
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
