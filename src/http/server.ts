/** Composes the auth service's HTTP server, which does not listen yet. */
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { limitHeaders } from '../ops/header-limits.ts'
import { malformedHttp, requireHost } from '../ops/malformed-http.ts'
import { noSchemas } from '../ops/no-schemas.ts'
import { addProbeRoute } from '../ops/probe.ts'
import { logRequests, newRequestId } from '../ops/request-log.ts'
import { withTls } from '../ops/tls.ts'
import { endUnusedConnections } from '../ops/unused-connections.ts'
import { noteMalformed, replyWithError } from './error-reply.ts'
import { acceptForms, FORM_AT_MOST } from './form-body.ts'
import { accountRoutes } from './routes/account.ts'
import { authorizeRoutes } from './routes/authorize.ts'
import { deviceRoutes } from './routes/device.ts'
import { deviceAuthorizationRoute } from './routes/device-authorization.ts'
import { healthRoutes } from './routes/health.ts'
import { introspectRoute } from './routes/introspect.ts'
import { loginApiRoutes } from './routes/login-api.ts'
import { loginCompleteRoute } from './routes/login-complete.ts'
import { loginResumeRoute } from './routes/login-resume.ts'
import { logoutRoutes } from './routes/logout.ts'
import { pushedRequestRoute } from './routes/pushed-request.ts'
import { registerRoute } from './routes/register.ts'
import { revokeRoute } from './routes/revoke.ts'
import { tokenRoute } from './routes/token.ts'
import { userinfoRoute } from './routes/userinfo.ts'
import { wellKnownRoutes } from './routes/well-known.ts'
import type { Service } from './service.ts'
import { refuseUnknownRoutes } from './unknown-route.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether refusals of this route are pages for users or JSON for programs */
    answers?: 'page' | 'json'
  }
}

export function createAuthServer(service: Service): FastifyInstance {
  const malformed = malformedHttp({ now: service.deps.now, note: (refusal) => noteMalformed(service, refusal) })
  const server: FastifyInstance = Fastify({
    ...withTls(service.tls),
    ...noSchemas,
    loggerInstance: service.logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    bodyLimit: FORM_AT_MOST,
    // RFC 9700 §4.13: headers that name a caller's address are trusted only from these proxies
    trustProxy: service.trustedProxies.length > 0 ? service.trustedProxies : false,
    exposeHeadRoutes: false,
    // This handler uses the service's error codes; the framework's default handler would use its own texts.
    frameworkErrors: (error, request, reply) =>
      void replyWithError(service, error, request, reply.header('x-request-id', request.id)),
    clientErrorHandler: malformed.clientError,
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    // Requests that arrive while the last connections are closing are still served.
    return503OnClosing: false,
  })
  server.server.on('connect', malformed.connect).on('checkExpectation', malformed.checkExpectation)
  server.setErrorHandler((error, request, reply) => replyWithError(service, error, request, reply))
  service.tracing?.traceRequests(server)
  logRequests(server, service.metrics)
  requireHost(server)
  endUnusedConnections(server)
  limitHeaders(server)
  acceptForms(server)
  refuseUnknownRoutes(server)

  healthRoutes(server, service)
  addProbeRoute(server, {
    service: 'auth',
    origin: service.deps.settings.authUrl,
    secrets: service.loginSecrets,
    now: service.deps.now,
  })
  wellKnownRoutes(server, service)
  authorizeRoutes(server, service)
  loginCompleteRoute(server, service)
  loginResumeRoute(server, service)
  accountRoutes(server, service)
  pushedRequestRoute(server, service)
  deviceAuthorizationRoute(server, service)
  deviceRoutes(server, service)
  tokenRoute(server, service)
  introspectRoute(server, service)
  revokeRoute(server, service)
  userinfoRoute(server, service)
  logoutRoutes(server, service)
  void server.register(async (scope) => loginApiRoutes(scope, service))
  void server.register(async (scope) => registerRoute(scope, service))
  return server
}
