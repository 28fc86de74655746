/** `POST /oauth/par` (RFC 9126 §2, §2.2, §2.3): the client itself sends an authorization request. */
import type { FastifyInstance } from 'fastify'
import { pushRequest } from '../../../domain/authorization/pushed-request.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formOf, formParameters } from '../form-body.ts'
import { limitPushes } from '../push-limit.ts'
import type { HttpService } from '../service.ts'

const PATH = '/oauth/par'

export function pushedRequestRoute(server: FastifyInstance, service: HttpService): void {
  const open = openToPublicClients(server, service, PATH)
  server.post(PATH, open, async (request, reply) => {
    offerNonce(service, request, reply)
    // RFC 9126 §2, §2.1: "The rules for client authentication as defined in [RFC6749] for token endpoint requests [...] apply"
    const credentials = presentedCredentials(request, formParameters(request, CREDENTIAL_PARAMETERS))
    const { requestUri, expiresIn } = await forClient(service, request, credentials, 'all', (client) => {
      limitPushes(service, request, client)
      const { network } = credentials
      return pushRequest(service.deps, client, { form: formOf(request), presented: presentedProof(request, PATH), network })
    })
    return reply.code(201).headers(JSON_HEADERS).send({ request_uri: requestUri, expires_in: expiresIn })
  })
}
