/**
 * A Fastify server with what every server of the service has: ids, lines and traces of requests, TLS, the proxies that it trusts, and
 * answers to requests that reach no route. The caller adds the routes.
 */
import type { ServerOptions } from 'node:https'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { logRequests, newRequestId } from '../observability/log/request-log.ts'
import type { Metrics } from '../observability/metrics/metrics.ts'
import type { Tracing } from '../observability/metrics/tracing.ts'
import { type MalformedHttpOptions, malformedHttp, requireHost } from './malformed-http.ts'
import { withTls } from './tls.ts'
import { endUnusedConnections } from './unused-connections.ts'

export type Refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown

type HttpServerParts = {
  logger: FastifyBaseLogger
  /** if absent, the server uses plain http behind a proxy */
  tls?: ServerOptions | undefined
  /** addresses and networks whose X-Forwarded-For is trusted; empty for none */
  trustedProxies: string[]
  metrics?: Pick<Metrics, 'observeRequest' | 'expectRoute'> | undefined
  tracing?: Tracing | undefined
  malformed: MalformedHttpOptions
  /** Answers a request that the framework refuses before its route is known. The framework's own answer would have its own texts. */
  refuse: Refuse
}

/** `options` are those in which the servers differ. The server does not listen yet. */
export function createHttpServer(parts: HttpServerParts, options: FastifyServerOptions): FastifyInstance {
  const { logger, tls, trustedProxies, metrics, tracing, refuse } = parts
  const malformed = malformedHttp(parts.malformed)
  const server: FastifyInstance = Fastify({
    ...withTls(tls),
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    // RFC 9700 §4.13: headers that name a caller's address are trusted only from these proxies
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    frameworkErrors: (error, request, reply) => void refuse(error, request, reply.header('x-request-id', request.id)),
    clientErrorHandler: malformed.clientError,
    forceCloseConnections: 'idle',
    // Requests that arrive while the last connections are closing are still served.
    return503OnClosing: false,
    ...options,
  })
  server.server.on('connect', malformed.connect).on('checkExpectation', malformed.checkExpectation)
  logRequests(server, metrics)
  tracing?.traceRequests(server)
  requireHost(server)
  endUnusedConnections(server)
  return server
}
