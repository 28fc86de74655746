/** `POST /oauth/token` (RFC 6749 §3.2), in numbered steps. */
import type { FastifyInstance } from 'fastify'
import { exchangeCode } from '../../grants/exchange-code.ts'
import type { Client } from '../../grants/model.ts'
import { refresh } from '../../grants/refresh.ts'
import type { TokenResponse } from '../../grants/token-response.ts'
import { unsupportedGrantType } from '../../oauth/oauth-error.ts'
import type { Parameters } from '../../oauth/parameters.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, required } from '../form-body.ts'
import type { Service } from '../service.ts'

const KNOWN = [...CREDENTIAL_PARAMETERS, 'grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope'] as const

type TokenParameters = Parameters<(typeof KNOWN)[number], 'resource'>

export function tokenRoute(server: FastifyInstance, service: Service): void {
  const open = openToPublicClients(server, service, '/oauth/token')
  server.post('/oauth/token', open, async (request, reply) => {
    // 1. the form, each parameter at most once
    const parameters = formParameters(request, KNOWN, ['resource'])
    // 2. the client, then 3. what it asks for
    const response = await forClient(service, request, presentedCredentials(request, parameters), true, (client) =>
      grantTokens(service, client, parameters),
    )
    return reply.headers(JSON_HEADERS).send(response)
  })
}

async function grantTokens(service: Service, client: Client, parameters: TokenParameters): Promise<TokenResponse> {
  switch (required(parameters.grant_type, 'grant_type')) {
    case 'authorization_code':
      return exchangeCode(service.deps, client, {
        code: required(parameters.code, 'code'),
        redirectUri: required(parameters.redirect_uri, 'redirect_uri'),
        codeVerifier: parameters.code_verifier,
        resources: parameters.resource,
      })
    case 'refresh_token':
      return refresh(service.deps, client, {
        refreshToken: required(parameters.refresh_token, 'refresh_token'),
        scope: parameters.scope,
        resources: parameters.resource,
      })
    default:
      throw unsupportedGrantType()
  }
}
