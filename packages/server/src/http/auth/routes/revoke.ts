/**
 * `POST /oauth/revoke` (RFC 7009 §2, OpenID Connect Core §16.18). Its errors are those of the token endpoint (RFC 7009
 * §2.2.1).
 */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../../domain/model/records.ts'
import { revoke } from '../../../domain/tokens/revoke.ts'
import { tooManyRevocations } from '../../../protocol/oauth/oauth-error.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { limitClient } from '../client-limits.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, requireParameter } from '../form-body.ts'
import type { HttpService } from '../service.ts'

// RFC 7009 §2.1, §5: the server may ignore the hint, and the form of a token shows its type.
const KNOWN = [...CREDENTIAL_PARAMETERS, 'token', 'token_type_hint'] as const

export function revokeRoute(server: FastifyInstance, service: HttpService): void {
  const open = openToPublicClients(server, service, '/oauth/revoke')
  server.post('/oauth/revoke', open, async (request, reply) => {
    const parameters = formParameters(request, KNOWN)
    await forClient(service, request, presentedCredentials(request, parameters), 'all', (client) => {
      limitClient(service, request, client, 'client_revocations')
      return revoke(service.deps, client, requireParameter(parameters.token, 'token'), () => limitClientTokens(service, client))
    })
    // §2.2: "The content of the response body is ignored by the client". Some libraries parse every response of the endpoint as JSON.
    return reply.headers(JSON_HEADERS).send({})
  })
}

/**
 * A client gets a token of its own without a user, and each revocation of such a token is a row. The grant type `client_credentials` is for
 * registered clients only, so the key is short.
 */
function limitClientTokens({ limits }: HttpService, { id }: Client): void {
  const verdict = limits.count('client_token_revocations', id)
  if (!verdict.allowed) throw tooManyRevocations(verdict.retryAfter)
}
