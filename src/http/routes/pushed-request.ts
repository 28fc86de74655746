/** `POST /oauth/par` (RFC 9126 §2, §2.2, §2.3): the client itself sends an authorization request. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { pushRequest } from '../../domain/authorization/pushed-request.ts'
import type { Client } from '../../domain/model/records.ts'
import { tooManyPushed } from '../../oauth/oauth-error.ts'
import { networkOf } from '../../ops/network.ts'
import { CREDENTIAL_PARAMETERS, forClient, limitKeyOf, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formOf, formParameters } from '../form-body.ts'
import type { Service } from '../service.ts'

const PATH = '/oauth/par'

export function pushedRequestRoute(server: FastifyInstance, service: Service): void {
  const open = openToPublicClients(server, service, PATH)
  server.post(PATH, open, async (request, reply) => {
    offerNonce(service, request, reply)
    // RFC 9126 §2, §2.1: "The rules for client authentication as defined in [RFC6749] for token endpoint requests [...] apply"
    const credentials = presentedCredentials(request, formParameters(request, CREDENTIAL_PARAMETERS))
    const { requestUri, expiresIn } = await forClient(service, request, credentials, 'all', (client) => {
      limitPushes(service, request, client)
      return pushRequest(service.deps, client, formOf(request), presentedProof(request, PATH))
    })
    return reply.code(201).headers(JSON_HEADERS).send({ request_uri: requestUri, expires_in: expiresIn })
  })
}

/**
 * Each push writes a row. Any caller that has the id of a public client can push for it, so such pushes are limited by
 * network: with a limit for the client, one caller could lock out all others.
 */
function limitPushes({ limits }: Service, request: FastifyRequest, client: Client): void {
  const verdict =
    client.authMethod === 'none'
      ? limits.count('pushes', networkOf(request.ip))
      : limits.count('client_pushes', limitKeyOf(client.id))
  if (!verdict.allowed) throw tooManyPushed(verdict.retryAfter)
}
