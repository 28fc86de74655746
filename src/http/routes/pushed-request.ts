/** `POST /oauth/par` (RFC 9126 §2, §2.2, §2.3): an authorization request, handed in by the client itself. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Client } from '../../grants/model.ts'
import { pushRequest } from '../../grants/pushed-request.ts'
import { tooManyPushed } from '../../oauth/oauth-error.ts'
import { networkOf } from '../../ops/network.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formOf, formParameters } from '../form-body.ts'
import type { Service } from '../service.ts'

const URL = '/oauth/par'

export function pushedRequestRoute(server: FastifyInstance, service: Service): void {
  const open = openToPublicClients(server, service, URL)
  server.post(URL, open, async (request, reply) => {
    offerNonce(service, request, reply)
    // RFC 9126 §2, §2.1: "The rules for client authentication as defined in [RFC6749] for token endpoint requests [...] apply"
    const credentials = presentedCredentials(request, formParameters(request, CREDENTIAL_PARAMETERS))
    const { requestUri, expiresIn } = await forClient(service, request, credentials, true, (client) => {
      limitPublic(service, request, client)
      return pushRequest(service.deps, client, formOf(request), presentedProof(request, URL))
    })
    return reply.code(201).headers(JSON_HEADERS).send({ request_uri: requestUri, expires_in: expiresIn })
  })
}

/** Each push is a row, and a public client needs no secret for it: counted like its failures, per network. */
function limitPublic(service: Service, request: FastifyRequest, client: Client): void {
  if (client.authMethod !== 'none') return
  const verdict = service.failures.recordFailure(`${networkOf(request.ip)} ${client.id} pushed`)
  if (!verdict.allowed) throw tooManyPushed(verdict.retryAfter)
}
