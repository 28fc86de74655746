/** `POST /oauth/introspect` (RFC 7662 §2). */
import type { FastifyInstance } from 'fastify'
import { introspect } from '../../grants/introspect.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, required } from '../form-body.ts'
import type { Service } from '../service.ts'

// §2.1: token_type_hint is read so that it is not sent twice; it would only save a look-up we do not make.
const KNOWN = [...CREDENTIAL_PARAMETERS, 'token', 'token_type_hint'] as const

export function introspectRoute(server: FastifyInstance, service: Service): void {
  server.post('/oauth/introspect', async (request, reply) => {
    const parameters = formParameters(request, KNOWN)
    const answer = await forClient(service, request, presentedCredentials(request, parameters), false, (client) =>
      introspect(service.deps, client, required(parameters.token, 'token')),
    )
    return reply.headers(JSON_HEADERS).send(answer)
  })
}
