/**
 * `POST /oauth/introspect` (RFC 7662 §2), answered as JSON or, where that is asked for, as a signed JWT (RFC 9701 §4). Who asks
 * proves who they are (RFC 7662 §2.1), or is answered 401 (§2.3): nobody can try tokens out here (§4).
 */
import type { FastifyInstance } from 'fastify'
import { introspect } from '../../grants/introspect.ts'
import type { Client } from '../../grants/model.ts'
import { SIGNED_INTROSPECTION, signIntrospection } from '../../grants/signed-introspection.ts'
import { namesMediaType } from '../accept.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, required } from '../form-body.ts'
import type { Service } from '../service.ts'

// RFC 7662 §2.1: token_type_hint is read so that it is not sent twice; it would only save a look-up we do not make.
const KNOWN = [...CREDENTIAL_PARAMETERS, 'token', 'token_type_hint'] as const

const SIGNED_TYPE = `application/${SIGNED_INTROSPECTION}`
const SIGNED_HEADERS = { ...JSON_HEADERS, 'content-type': SIGNED_TYPE }

export function introspectRoute(server: FastifyInstance, service: Service): void {
  server.post('/oauth/introspect', async (request, reply) => {
    const parameters = formParameters(request, KNOWN)
    const { headers, body } = await forClient(
      service,
      request,
      presentedCredentials(request, parameters),
      false,
      async (client: Client) => {
        const plain = await introspect(service.deps, client, required(parameters.token, 'token'))
        if (!namesMediaType(request.headers.accept, SIGNED_TYPE)) return { headers: JSON_HEADERS, body: plain }
        return { headers: SIGNED_HEADERS, body: signIntrospection(service.deps, client, plain) }
      },
    )
    return reply.headers(headers).send(body)
  })
}
