/**
 * `POST /oauth/register` (RFC 7591 §3, §5: over TLS, as every URL of the service beyond loopback): a client registers itself. Nothing is stored: the client id is the sealed registration. The route
 * exists only if the operator switched registration on.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { registerDynamically } from '../../../domain/clients/dynamic-clients.ts'
import type { Deps } from '../../../domain/model/deps.ts'
import { clientWarnings } from '../../../domain/resources/client-warnings.ts'
import { networkOf } from '../../../observability/log/network.ts'
import { invalidToken, tooManyRegistrations } from '../../../protocol/oauth/oauth-error.ts'
import { type ParsedJson, parseJson } from '../../../protocol/oauth/parse-json.ts'
import { isSameSecret } from '../../../protocol/oauth/same-secret.ts'
import { ANY_ORIGIN } from '../cross-origin.ts'
import { JSON_HEADERS, replyWithError } from '../error-reply.ts'
import type { HttpService } from '../service.ts'

const PATH = '/oauth/register'

export function registerRoute(server: FastifyInstance, service: HttpService): void {
  const { deps, limits } = service
  const { dynamicRegistration } = deps.settings
  if (dynamicRegistration === null) return
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'string' }, async (_request: FastifyRequest, text: string) =>
    parseJson(text),
  )
  server.setErrorHandler((error, request, reply) => replyWithError(service, error, request, reply))
  // A client that is not registered yet has no origin that could be allowed. The response gives no access.
  server.addHook('onRequest', async (_request, reply) => void reply.headers(ANY_ORIGIN))

  server.options(PATH, async (_request, reply) =>
    reply
      .code(204)
      .headers({ 'access-control-allow-headers': 'authorization, content-type', 'access-control-allow-methods': 'POST' })
      .send(),
  )
  server.post(PATH, async (request, reply) => {
    requireInitialAccessToken(request, dynamicRegistration.token)
    const verdict = limits.count('registrations', networkOf(request.ip))
    if (!verdict.allowed) throw tooManyRegistrations(verdict.retryAfter)
    const response = registerDynamically({ ...deps, schemes: dynamicRegistration.schemes }, request.body as ParsedJson)
    const warnings = await warningsOf(deps, response.client_id)
    deps.audit({ event: 'client_registered_itself' })
    return reply
      .code(201)
      .headers(JSON_HEADERS)
      .send({ ...response, ...(warnings.length > 0 && { warnings }) })
  })
}

/** RFC 7591 §3.2.1 allows further members in the response. */
async function warningsOf(deps: Deps, clientId: string): Promise<string[]> {
  const client = await deps.clients.find(clientId)
  return client ? clientWarnings(deps, client) : []
}

/** RFC 7591 §3: "the registration endpoint MAY be an OAuth 2.0 protected resource and it MAY accept an initial access token". */
function requireInitialAccessToken(request: FastifyRequest, expected: string | undefined): void {
  if (expected === undefined) return
  const [, token = ''] = /^Bearer +([!-~]{1,512})$/i.exec(request.headers.authorization ?? '') ?? []
  if (isSameSecret(token, expected)) return
  const refusal = invalidToken('registration_token_wrong')
  refusal.tokenScheme = 'Bearer'
  throw refusal
}
