/** Composes the admin server, which does not listen yet. */
import type { FastifyInstance } from 'fastify'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { ADMIN_SCOPES } from '../../domain/operators/roles.ts'
import { limitHeaders } from '../../http/header-limits.ts'
import { addLogoRoute } from '../../http/logo-route.ts'
import type { MalformedHttp } from '../../http/malformed-http.ts'
import { addProbeRoute } from '../../http/probe.ts'
import { recordRouteMethods } from '../../http/route-methods.ts'
import { createHttpServer, type Refuse } from '../../http/server.ts'
import { LOGO_PATH } from '../../pages/look.ts'
import { operations } from '../operations/all.ts'
import type { ServerService } from '../operations/service.ts'
import type { Admin } from './admin.ts'
import { describeOperations, openapiRoute } from './openapi.ts'
import { Problem, replyWithProblem, writeMalformed } from './problem.ts'
import { addRoute } from './route.ts'
import { serviceOf } from './service.ts'
import { compileSchema } from './validate.ts'

type AddConsole = (server: FastifyInstance, admin: Admin, service: ServerService) => void

/** Enough for the JWK Set of one client. */
const BODY_AT_MOST = 65_536
/** Longer parameters than the schemas allow get a response that lists the faults. */
const PARAMETER_AT_MOST = 4000

/** `addConsole` adds the pages for operators, on the same listener. */
export function createAdminServer(admin: Admin, addConsole: AddConsole): FastifyInstance {
  const { logger, metrics, trustedProxies, tls, tracing, deps } = admin
  const refuse: Refuse = (error, request, reply) => replyWithProblem(admin, error, request, reply)
  const note = ({ reason, requestId, network }: MalformedHttp) =>
    deps.audit({ event: 'refused', reason, request_id: requestId, network })
  const server = createHttpServer(
    { logger, tls, trustedProxies, metrics, tracing, malformed: { now: deps.now, note, write: writeMalformed }, refuse },
    {
      bodyLimit: BODY_AT_MOST,
      routerOptions: { maxParamLength: PARAMETER_AT_MOST },
      exposeHeadRoutes: false,
      requestTimeout: 30_000,
      schemaController: {
        compilersFactory: {
          // The declared type is that of the validators that Fastify brings, which are not loaded.
          buildValidator: () => compileSchema as never,
          // The handlers build exactly what the schemas describe; a test compares both.
          buildSerializer: () => () => JSON.stringify,
        },
      },
    },
  )
  server.removeContentTypeParser('text/plain')
  server.setErrorHandler(refuse)
  limitHeaders(server)
  refuseOthers(server)
  server.addHook('onSend', async (_request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    if (!reply.hasHeader('x-content-type-options')) reply.header('x-content-type-options', 'nosniff')
  })

  server.decorateReply('look', { getter: () => admin.look })
  logoRoute(server, admin)
  const service = serviceOf(admin)
  addProbeRoute(server, { service: 'admin', origin: admin.adminUrl, secrets: admin.loginSecrets, now: deps.now })

  void server.register(async (scope) => {
    await describeOperations(scope, admin)
    protectedResourceRoute(scope, admin)
    openapiRoute(scope)
    for (const operation of operations) addRoute(scope, admin, service, operation)
  })
  void server.register(async (scope) => addConsole(scope, admin, service))
  return server
}

/** For the preview of the console. */
function logoRoute(server: FastifyInstance, { look }: Admin): void {
  addLogoRoute(server, {
    path: `${LOGO_PATH}/:hash`,
    find: async ({ hash }) => (look?.logo?.hash === hash ? look.logo.bytes : null),
    refuse: () => {
      throw new Problem('not_found', 'There is no such logo.')
    },
  })
}

/** RFC 9728 §3 */
function protectedResourceRoute(server: FastifyInstance, { adminUrl, deps }: Admin): void {
  server.get('/.well-known/oauth-protected-resource', { schema: { hide: true } }, async (_request, reply) =>
    reply.send({
      resource: adminResourceOf(adminUrl),
      authorization_servers: [deps.settings.authUrl],
      scopes_supported: ADMIN_SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: 'Grantor admin API',
    }),
  )
}

function refuseOthers(server: FastifyInstance): void {
  const methodsOf = recordRouteMethods(server)
  server.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    const [path = ''] = request.url.split('?', 1)
    const methods = methodsOf(path)
    if (!methods) throw new Problem('not_found', 'There is no such address.')
    void reply.header('allow', methods.join(', '))
    throw new Problem('method_not_allowed', `Use ${methods.join(' or ')} here.`)
  })
}
