/** `POST /oauth/device_authorization` (RFC 8628 §3.1, §3.2): a device requests a code that its user enters in a browser. */
import type { FastifyInstance } from 'fastify'
import { authorizeDevice } from '../../../domain/authorization/device-authorization.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters } from '../form-body.ts'
import { placeOf } from '../place.ts'
import { limitPushes } from '../push-limit.ts'
import type { HttpService } from '../service.ts'

const PATH = '/oauth/device_authorization'

export function deviceAuthorizationRoute(server: FastifyInstance, service: HttpService): void {
  server.post(PATH, openToPublicClients(server, service, PATH), async (request, reply) => {
    const parameters = formParameters(request, [...CREDENTIAL_PARAMETERS, 'scope', 'dpop_jkt'], ['resource'])
    offerNonce(service, request, reply)
    const credentials = presentedCredentials(request, parameters)
    const response = await forClient(service, request, credentials, 'all', (client) => {
      limitPushes(service, request, client)
      return authorizeDevice(service.deps, client, {
        parameters,
        presented: presentedProof(request, PATH),
        place: placeOf(request),
      })
    })
    return reply.headers(JSON_HEADERS).send(response)
  })
}
