/**
 * The id of a request, and one line per completed request: method, route, status, duration, request id, the first part of the caller's
 * address, and the client if it is known. Never a query, a header, a body or a complete address. The id is in the response
 * (`X-Request-Id`), in the request line (`reqId`) and in the audit lines (`request_id`).
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

declare module 'fastify' {
  interface FastifyRequest {
    /** the caller's address, if another server sent the request for the caller */
    callerAddress: string | undefined
    /** for the request line: the client that sent the request, or that the request is about */
    clientId: string | undefined
    /** if the request is traced */
    traceId: string | undefined
  }
}

const context = new AsyncLocalStorage<FastifyRequest>()

/** The id of the request that this code runs for; undefined in background work. */
export function currentRequestId(): string | undefined {
  return context.getStore()?.id
}

/** The id of the trace of the current request; undefined if the request is not traced. */
export function currentTraceId(): string | undefined {
  return context.getStore()?.traceId
}

/** The first part of the caller's address, such as `203.0.113`; undefined in background work, and if the address is unknown. */
export function currentNetwork(): string | undefined {
  const request = context.getStore()
  return request && networkOfCaller(request)
}

/** The same for a request that is refused before its handler: `currentNetwork` is undefined then. */
export function networkOfCaller({ callerAddress, ip }: Pick<FastifyRequest, 'callerAddress' | 'ip'>): string | undefined {
  return networkPrefix(callerAddress ?? ip) || undefined
}

/** The caller's address, if another server sent the request for the caller. */
export function noteCallerAddress(ip: string): void {
  const request = context.getStore()
  if (request) request.callerAddress = ip
}

/** The client of the current request, for its line. */
export function noteClient(id: string): void {
  const request = context.getStore()
  if (request) request.clientId = id
}

/** Adds the request log to a server whose own request logging is off, and counts requests if there are metrics. */
export function logRequests(server: FastifyInstance, metrics?: Pick<Metrics, 'observeRequest'>): void {
  for (const name of ['callerAddress', 'clientId', 'traceId'] as const) server.decorateRequest(name, undefined)
  server.addHook('onRequest', (request, reply, done) => {
    done(void reply.header('x-request-id', request.id))
  })
  // After the body: the body's events come from the connection and would lose the id.
  server.addHook('preHandler', (request, _reply, done) => context.run(request, done))
  server.addHook('onResponse', (request, reply, done) => {
    // The route's pattern, not the requested path: the caller chooses the path, which may contain anything.
    const route = request.routeOptions.url ?? 'unmatched'
    const { method } = request
    const { elapsedTime, statusCode: status } = reply
    const level = route.startsWith('/health/') ? 'debug' : 'info'
    const ms = Math.round(elapsedTime * 10) / 10
    request.log[level]({ method, route, status, ms, network: networkOfCaller(request), client_id: request.clientId }, 'request')
    metrics?.observeRequest({ route, method, status, seconds: elapsedTime / 1000 })
    done()
  })
}
