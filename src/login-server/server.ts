import type { ServerOptions as SecureServerOptions } from 'node:https'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { malformedHttp, requireHost } from '../ops/malformed-http.ts'
import type { Metrics } from '../ops/metrics.ts'
import { noSchemas } from '../ops/no-schemas.ts'
import { addProbeRoute } from '../ops/probe.ts'
import { currentRequestId, logRequests, newRequestId } from '../ops/request-log.ts'
import { withTls } from '../ops/tls.ts'
import type { Tracing } from '../ops/tracing.ts'
import { endUnusedConnections } from '../ops/unused-connections.ts'
import { connectAuthService } from './auth-service.ts'
import { checkOrigin } from './origin-check.ts'
import { LARGEST_BODY, readBodies } from './posted.ts'
import { invalidRequest } from './refusal.ts'
import { answerRefusals, refuse } from './refusal-reply.ts'
import { addDenyRoute } from './routes/deny.ts'
import { addDevelopmentLoginRoute } from './routes/development-login.ts'
import { addDevelopmentWalletRoute, type DevelopmentWallet } from './routes/development-wallet.ts'
import { addHealthRoutes } from './routes/health.ts'
import { addLoginPageRoute } from './routes/login-page.ts'
import { addMessageRoute } from './routes/message.ts'
import { addStatusRoute } from './routes/status.ts'
import { addSubmitRoute } from './routes/submit.ts'

export type { DevelopmentWallet } from './routes/development-wallet.ts'

/**
 * The login server: serves the wallet login form and calls the auth service.
 *
 * It has no state and makes no decisions: the auth service composes the text and checks the signature. The server does
 * not listen yet.
 */
export type LoginServerOptions = {
  authUrl: string
  /** The server's own public address: the only origin whose forms it accepts. */
  loginUrl: string
  loginSecret: string
  logger: FastifyBaseLogger
  /** Addresses and networks whose X-Forwarded-For is trusted; none by default. */
  trustedProxies: string[]
  /** Under `grantor start` only. */
  developmentWallet?: DevelopmentWallet | undefined
  /** Epoch seconds. */
  now: () => number
  /** The address of the auth service for this server, if not `authUrl`. */
  backendUrl?: string | undefined
  metrics?: Pick<Metrics, 'observeRequest'> | undefined
  /** Absent if no collector is configured. */
  tracing?: Tracing | undefined
  /** Whether the process is stopping, so that readiness ends; if absent, never. */
  isStopping?: (() => boolean) | undefined
  /** TLS options; if absent, the server speaks plain http behind a proxy. */
  tls?: SecureServerOptions | undefined
}

export function createLoginServer(options: LoginServerOptions): FastifyInstance {
  const { logger, trustedProxies, loginUrl, loginSecret, developmentWallet, now, metrics, tracing } = options
  const malformed = malformedHttp({
    now,
    note: ({ reason, requestId: reqId }) => logger.info({ reqId, reason }, 'refused'),
  })
  const server: FastifyInstance = fastify({
    ...withTls(options.tls),
    ...noSchemas,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: LARGEST_BODY,
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    requestTimeout: 20_000,
    // Requests that arrive while the last connections are closing are still served.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) =>
      refuse(request, reply.header('x-request-id', request.id), invalidRequest('The request is malformed.')),
    clientErrorHandler: malformed.clientError,
  })
  const authService = connectAuthService({
    url: options.backendUrl ?? options.authUrl,
    secret: loginSecret,
    tracing,
    report: (problem, detail) => logger.error({ reqId: currentRequestId(), problem, ...detail }, 'auth service'),
  })

  server.server.on('connect', malformed.connect).on('checkExpectation', malformed.checkExpectation)
  tracing?.traceRequests(server)
  logRequests(server, metrics)
  requireHost(server)
  endUnusedConnections(server)
  checkOrigin(server, loginUrl)
  readBodies(server)
  answerRefusals(server)

  const developmentAccounts = developmentWallet?.accounts
  addHealthRoutes(server, options)
  addProbeRoute(server, { service: 'login', origin: loginUrl, secrets: [loginSecret], now })
  addLoginPageRoute(server, { authService, now, developmentAccounts })
  addMessageRoute(server, { authService, now, developmentAccounts })
  addSubmitRoute(server, { authService, now })
  addStatusRoute(server, { authService })
  addDenyRoute(server, { authService })
  if (developmentWallet) {
    addDevelopmentLoginRoute(server, { authService, now, developmentWallet })
    addDevelopmentWalletRoute(server, { authService, now, developmentWallet })
  }
  return server
}
