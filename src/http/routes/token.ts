/** `POST /oauth/token` (RFC 6749 §3.2), in numbered steps. Nobody's password buys a token (RFC 6749 §10.7, RFC 9700 §2.4). */
import type { FastifyInstance } from 'fastify'
import { grantToClient } from '../../grants/client-credentials-grant.ts'
import { type PresentedProof, readTokenProof } from '../../grants/dpop.ts'
import { exchangeCode } from '../../grants/exchange-code.ts'
import type { Client } from '../../grants/model.ts'
import { requireSigningOfProfile } from '../../grants/profile-signing.ts'
import { refresh } from '../../grants/refresh.ts'
import type { TokenResponse } from '../../grants/token-response.ts'
import { invalidTarget, unsupportedGrantType } from '../../oauth/oauth-error.ts'
import type { Parameters } from '../../oauth/parameters.ts'
import { isResourceUri } from '../../oauth/resource-uri.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, required } from '../form-body.ts'
import type { Service } from '../service.ts'

const KNOWN = [...CREDENTIAL_PARAMETERS, 'grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope'] as const

const URL = '/oauth/token'

type TokenParameters = Parameters<(typeof KNOWN)[number], 'resource'>

export function tokenRoute(server: FastifyInstance, service: Service): void {
  const open = openToPublicClients(server, service, URL)
  server.post(URL, open, async (request, reply) => {
    // 1. the form, each parameter at most once
    const parameters = formParameters(request, KNOWN, ['resource'])
    offerNonce(service, request, reply)
    // 2. the client, then 3. the key it shows, and what it asks for
    const response = await forClient(service, request, presentedCredentials(request, parameters), true, (client) =>
      grantTokens(service, client, parameters, presentedProof(request, URL)),
    )
    return reply.headers(JSON_HEADERS).send(response)
  })
}

async function grantTokens(
  { deps }: Service,
  client: Client,
  parameters: TokenParameters,
  presented: PresentedProof,
): Promise<TokenResponse> {
  const grantType = required(parameters.grant_type, 'grant_type')
  requireSigningOfProfile(deps, client)
  const proof = readTokenProof(deps, client, presented)
  // RFC 8707 §2: "unknown, or malformed"
  if (!parameters.resource.every(isResourceUri)) throw invalidTarget('resource_malformed')
  switch (grantType) {
    case 'authorization_code':
      return exchangeCode(deps, client, {
        code: required(parameters.code, 'code'),
        redirectUri: required(parameters.redirect_uri, 'redirect_uri'),
        codeVerifier: parameters.code_verifier,
        resources: parameters.resource,
        proof,
      })
    case 'refresh_token':
      return refresh(deps, client, {
        refreshToken: required(parameters.refresh_token, 'refresh_token'),
        scope: parameters.scope,
        resources: parameters.resource,
        proof,
      })
    case 'client_credentials':
      return grantToClient(deps, client, { scope: parameters.scope, resources: parameters.resource, proof })
    default:
      throw unsupportedGrantType()
  }
}
