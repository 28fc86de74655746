/** Composes the auth service's HTTP server, which does not listen yet. */
import type { FastifyInstance } from 'fastify'
import type { Look } from '../../pages/look.ts'
import { limitHeaders } from '../header-limits.ts'
import { noSchemas } from '../no-schemas.ts'
import { addProbeRoute } from '../probe.ts'
import { createHttpServer, type Refuse } from '../server.ts'
import { noteMalformed, replyWithError } from './error-reply.ts'
import { acceptForms, FORM_AT_MOST } from './form-body.ts'
import { accountRoutes } from './routes/account.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { approveRoutes } from './routes/approve.ts'
import { authorizeRoutes } from './routes/authorize.ts'
import { crossDeviceRoutes } from './routes/cross-device.ts'
import { deviceRoutes } from './routes/device.ts'
import { deviceAuthorizationRoute } from './routes/device-authorization.ts'
import { drawRoutes } from './routes/draw.ts'
import { endingsRoutes } from './routes/endings.ts'
import { healthRoutes } from './routes/health.ts'
import { introspectRoute } from './routes/introspect.ts'
import { loginApiRoutes } from './routes/login-api.ts'
import { loginCompleteRoute } from './routes/login-complete.ts'
import { loginResumeRoute } from './routes/login-resume.ts'
import { logoRoute } from './routes/logo.ts'
import { logoutRoutes } from './routes/logout.ts'
import { pictureRoute } from './routes/picture.ts'
import { pushedRequestRoute } from './routes/pushed-request.ts'
import { registerRoute } from './routes/register.ts'
import { revokeRoute } from './routes/revoke.ts'
import { tokenRoute } from './routes/token.ts'
import { userinfoRoute } from './routes/userinfo.ts'
import { wellKnownRoutes } from './routes/well-known.ts'
import type { HttpService } from './service.ts'
import { refuseUnknownRoutes } from './unknown-route.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether refusals of this route are pages for users or JSON for programs */
    answers?: 'page' | 'json'
  }
  interface FastifyReply {
    /** of the pages */
    look?: Look | undefined
  }
}

export function createAuthServer(service: HttpService): FastifyInstance {
  const { deps, logger, metrics, tls, tracing, trustedProxies } = service
  const refuse: Refuse = (error, request, reply) => replyWithError(service, error, request, reply)
  const server = createHttpServer(
    {
      logger,
      tls,
      trustedProxies,
      metrics,
      tracing,
      refuse,
      malformed: { now: deps.now, note: (refusal) => noteMalformed(service, refusal) },
    },
    { ...noSchemas, bodyLimit: FORM_AT_MOST, exposeHeadRoutes: false, requestTimeout: 30_000 },
  )
  server.setErrorHandler(refuse)
  limitHeaders(server)
  acceptForms(server)
  refuseUnknownRoutes(server)
  server.decorateReply('look', { getter: () => service.look })

  healthRoutes(server, service)
  addProbeRoute(server, {
    service: 'auth',
    origin: service.deps.settings.authUrl,
    secrets: service.loginSecrets,
    now: service.deps.now,
  })
  wellKnownRoutes(server, service)
  pictureRoute(server, service)
  logoRoute(server, service)
  authorizeRoutes(server, service)
  loginCompleteRoute(server, service)
  loginResumeRoute(server, service)
  crossDeviceRoutes(server, service)
  accountRoutes(server, service)
  pushedRequestRoute(server, service)
  deviceAuthorizationRoute(server, service)
  deviceRoutes(server, service)
  tokenRoute(server, service)
  introspectRoute(server, service)
  approvalRoutes(server, service)
  drawRoutes(server, service)
  approveRoutes(server, service)
  revokeRoute(server, service)
  endingsRoutes(server, service)
  userinfoRoute(server, service)
  logoutRoutes(server, service)
  void server.register(async (scope) => loginApiRoutes(scope, service))
  void server.register(async (scope) => registerRoute(scope, service))
  return server
}
