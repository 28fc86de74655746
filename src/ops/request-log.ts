/** One line per answered request: method, route, status, duration, request id. Never a query, a header or a body. */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { linesOf, ownMembers } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { timeOfLine } from './time-of-line.ts'

/** For fastify's `genReqId`. A caller's own X-Request-Id is never taken over: it would let anybody write into the log. */
export function newRequestId(): string {
  return randomUUID()
}

/** Adds the request log to a server whose own request logging is off, and counts requests where there are metrics. */
export function logRequests(server: FastifyInstance, metrics?: Pick<Metrics, 'observeRequest'>): void {
  const lines = linesOf(server.log)
  const isLogged = loudness(server.log.level)
  const own = ownMembers(server.log)
  server.addHook('onResponse', (request, reply, done) => {
    // The route's pattern, not the path that was asked for: a path of the caller's choosing may hold anything.
    const route = request.routeOptions.url ?? 'unmatched'
    const { elapsedTime } = reply
    const level = route.startsWith('/health/') ? 'debug' : 'info'
    if (lines === undefined) request.log[level](membersOf(request, reply, route, elapsedTime), 'request')
    else if (isLogged[level]) lines.writeSoon(lineOf(level, own, request, reply, route, elapsedTime))
    metrics?.observeRequest({ route, method: request.method, status: reply.statusCode, seconds: elapsedTime / 1000 })
    done()
  })
}

function membersOf({ method }: FastifyRequest, { statusCode: status }: FastifyReply, route: string, elapsed: number) {
  return { method, route, status, ms: Math.round(elapsed * 10) / 10 }
}

/** The line as the logger would write it. By hand, because every request pays for it; a route's pattern is ours, and plain. */
function lineOf(
  level: string,
  own: string,
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
  elapsed: number,
): string {
  const { method, status, ms } = membersOf(request, reply, route, elapsed)
  return `{"level":"${level}","time":"${timeOfLine()}",${own}"reqId":"${request.id}","method":"${method}","route":"${route}","status":${status},"ms":${ms},"msg":"request"}\n`
}

function loudness(level: string): { debug: boolean; info: boolean } {
  const debug = level === 'debug' || level === 'trace'
  return { debug, info: debug || level === 'info' }
}
