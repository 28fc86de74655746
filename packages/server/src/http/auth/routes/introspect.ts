/**
 * `POST /oauth/introspect` (RFC 7662 §2). The response is JSON or, if the client requests it, a signed JWT (RFC 9701
 * §4). The caller must authenticate (RFC 7662 §2.1) or receives 401 (§2.3), so that tokens cannot be guessed here (§4).
 */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../../domain/model/records.ts'
import { introspect } from '../../../domain/tokens/introspect.ts'
import { SIGNED_INTROSPECTION, signIntrospection } from '../../../domain/tokens/signed-introspection.ts'
import { namesMediaType } from '../accept.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { limitClient } from '../client-limits.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, requireParameter } from '../form-body.ts'
import type { HttpService } from '../service.ts'

// RFC 7662 §2.1: token_type_hint is read only to refuse a repetition. The hint would only save a look-up that this
// service does not make.
const KNOWN = [...CREDENTIAL_PARAMETERS, 'token', 'token_type_hint'] as const

const SIGNED_TYPE = `application/${SIGNED_INTROSPECTION}`
const SIGNED_HEADERS = { ...JSON_HEADERS, 'content-type': SIGNED_TYPE }

export function introspectRoute(server: FastifyInstance, service: HttpService): void {
  server.post('/oauth/introspect', async (request, reply) => {
    const parameters = formParameters(request, KNOWN)
    const { headers, body } = await forClient(
      service,
      request,
      presentedCredentials(request, parameters),
      'authenticated',
      async (client: Client) => {
        limitClient(service, request, client, 'client_introspections')
        const plain = await introspect(service.deps, client, requireParameter(parameters.token, 'token'))
        if (!namesMediaType(request.headers.accept, SIGNED_TYPE)) return { headers: JSON_HEADERS, body: plain }
        return { headers: SIGNED_HEADERS, body: signIntrospection(service.deps, client, plain) }
      },
    )
    return reply.headers(headers).send(body)
  })
}
