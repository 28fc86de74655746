/** `GET` and `POST /oauth/userinfo` (OpenID Connect Core §5.3, §5.3.1, §5.3.2): takes an access token and returns claims. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readUserinfo } from '../../../domain/tokens/userinfo.ts'
import { presentedToken } from '../../../protocol/oauth/bearer-token.ts'
import { invalidRequest, OAuthError } from '../../../protocol/oauth/oauth-error.ts'
import { headerFields } from '../../header-fields.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS, TOKEN_CHALLENGE } from '../error-reply.ts'
import { formParameters } from '../form-body.ts'
import type { HttpService } from '../service.ts'

const PATH = '/oauth/userinfo'

export function userinfoRoute(server: FastifyInstance, service: HttpService): void {
  const open = openToPublicClients(server, service, PATH, ['GET', 'POST'])
  server.get(PATH, open, async (request, reply) => answer(request, reply, null))
  server.post(PATH, open, async (request, reply) => {
    const inBody = request.body === undefined ? null : formParameters(request, ['access_token']).access_token
    return answer(request, reply, inBody)
  })

  async function answer(request: FastifyRequest, reply: FastifyReply, inBody: string | null): Promise<FastifyReply> {
    offerNonce(service, request, reply)
    const presented = presentedToken(headerFields(request, 'authorization'), inBody)
    if (presented.kind === 'malformed') throw invalidRequest('token_malformed', 'Present one access token, in one way.')
    // RFC 6750 §3.1: without a token the response "SHOULD NOT include an error code or other error information"
    if (presented.kind === 'none') {
      const { 'content-type': _, ...headers } = JSON_HEADERS
      return reply
        .code(401)
        .headers({ ...headers, 'www-authenticate': TOKEN_CHALLENGE })
        .send()
    }
    const { scheme, token } = presented
    try {
      const claims = await readUserinfo(service.deps, { scheme, token, presented: presentedProof(request, PATH) })
      return await reply.headers(JSON_HEADERS).send(claims)
    } catch (error) {
      if (error instanceof OAuthError) error.tokenScheme = scheme
      throw error
    }
  }
}
