import type { ServerOptions as SecureServerOptions } from 'node:https'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { currentRequestId, currentTraceId } from '../../observability/log/request-log.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import { type Look, withPicturesOf } from '../../pages/look.ts'
import { noSchemas } from '../no-schemas.ts'
import { createOutageLog } from '../outage-log.ts'
import { addProbeRoute } from '../probe.ts'
import { createHttpServer } from '../server.ts'
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
import { addPlatformLogoRoute } from './routes/logo.ts'
import { addMessageRoute } from './routes/message.ts'
import { addStatusRoute } from './routes/status.ts'
import { addSubmitRoute } from './routes/submit.ts'
import { addWalletConnectRoute, type WalletConnectOptions } from './routes/walletconnect.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** of the pages */
    look?: Look | undefined
  }
}

export type { DevelopmentWallet } from './routes/development-wallet.ts'
export type { WalletConnectOptions } from './routes/walletconnect.ts'

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
  /** Of the pages; if absent, that of Grantor. */
  look?: Look | undefined
  /** Addresses and networks whose X-Forwarded-For is trusted; none by default. */
  trustedProxies: string[]
  /** The page of a smart wallet's own window; not offered if absent. */
  walletWindow?: string | undefined
  /** Not offered if absent. */
  walletConnect?: WalletConnectOptions | undefined
  /** Under `grantor start` only. */
  developmentWallet?: DevelopmentWallet | undefined
  /** Epoch seconds. */
  now: () => number
  /** The address of the auth service for this server, if not `authUrl`. */
  backendUrl?: string | undefined
  metrics?: Pick<Metrics, 'observeRequest' | 'expectRoute'> | undefined
  /** Absent if no collector is configured. */
  tracing?: Tracing | undefined
  /** Whether the process is stopping, so that readiness ends; if absent, never. */
  isStopping?: (() => boolean) | undefined
  /** TLS options; if absent, the server uses plain http behind a proxy. */
  tls?: SecureServerOptions | undefined
}

const AUTH_SERVICE_OUTAGE = {
  begun: 'the auth service does not respond: sign-ins get 503. One line a minute follows',
  continues: 'the auth service still does not respond',
  ended: 'the auth service responds again',
}

export function createLoginServer(options: LoginServerOptions): FastifyInstance {
  const { logger, trustedProxies, loginUrl, loginSecret, walletWindow, developmentWallet, now, metrics, tracing } = options
  const server = createHttpServer(
    {
      logger,
      tls: options.tls,
      trustedProxies,
      metrics,
      tracing,
      malformed: { now, note: ({ requestId: reqId, ...refused }) => logger.info({ reqId, ...refused }, 'refused') },
      refuse: (_error, request, reply) => refuse(request, reply, invalidRequest('The request is malformed.')),
    },
    { ...noSchemas, bodyLimit: LARGEST_BODY, requestTimeout: 20_000 },
  )
  const authService = connectAuthService({
    url: options.backendUrl ?? options.authUrl,
    secret: loginSecret,
    tracing,
    report: (problem, detail) =>
      logger.error({ reqId: currentRequestId(), trace_id: currentTraceId(), problem, ...detail }, 'auth service'),
    outage: createOutageLog({ logger, now, words: AUTH_SERVICE_OUTAGE }),
  })

  checkOrigin(server, loginUrl)
  readBodies(server)
  answerRefusals(server)
  const look = withPicturesOf(options.authUrl, options.look)
  server.decorateReply('look', { getter: () => look })

  const developmentAccounts = developmentWallet?.accounts
  addHealthRoutes(server, options)
  addProbeRoute(server, { service: 'login', origin: loginUrl, secrets: [loginSecret], now })
  const walletConnect = options.walletConnect && addWalletConnectRoute(server, options.walletConnect, loginUrl)
  addLoginPageRoute(server, { authService, now, walletWindow, walletConnect, developmentAccounts })
  addPlatformLogoRoute(server, { look: options.look })
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
