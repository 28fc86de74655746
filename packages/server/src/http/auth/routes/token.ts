/**
 * `POST /oauth/token` (RFC 6749 §3.2). There is no password grant: the service never accepts a user's password for a token (RFC 6749
 * §10.7, RFC 9700 §2.4).
 */
import type { FastifyInstance } from 'fastify'
import { authenticateClient } from '../../../domain/clients/authenticate-client.ts'
import { requireSigningOfProfile } from '../../../domain/clients/profile-signing.ts'
import { countedClient } from '../../../domain/model/client-id.ts'
import type { Deps } from '../../../domain/model/deps.ts'
import type { Client } from '../../../domain/model/records.ts'
import { grantToClient } from '../../../domain/tokens/client-credentials-grant.ts'
import { grantToDevice } from '../../../domain/tokens/device-grant.ts'
import { type DpopProof, readTokenProof } from '../../../domain/tokens/dpop.ts'
import { exchangeCode } from '../../../domain/tokens/exchange-code.ts'
import { exchangeToken } from '../../../domain/tokens/exchange-token.ts'
import { refresh } from '../../../domain/tokens/refresh.ts'
import type { TokenResponse } from '../../../domain/tokens/token-response.ts'
import { noteClient } from '../../../observability/log/request-log.ts'
import {
  DEVICE_CODE_GRANT,
  GRANT_PARAMETERS,
  type GrantType,
  isGrantType,
  TOKEN_EXCHANGE,
} from '../../../protocol/oauth/grant-types.ts'
import { invalidTarget, unsupportedGrantType } from '../../../protocol/oauth/oauth-error.ts'
import type { Parameters } from '../../../protocol/oauth/parameters.ts'
import { isResourceUri } from '../../../protocol/oauth/resource-uri.ts'
import { CREDENTIAL_PARAMETERS, countFailure, presentedCredentials } from '../client-credentials.ts'
import { limitClient } from '../client-limits.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, requireParameter } from '../form-body.ts'
import type { HttpService } from '../service.ts'

const KNOWN = [...CREDENTIAL_PARAMETERS, 'grant_type', 'scope', ...GRANT_PARAMETERS] as const

const PATH = '/oauth/token'

const REPEATABLE = ['resource', 'audience'] as const

type TokenParameters = Parameters<(typeof KNOWN)[number], (typeof REPEATABLE)[number]>

export function tokenRoute(server: FastifyInstance, service: HttpService): void {
  const { deps } = service
  server.post(PATH, openToPublicClients(server, service, PATH), async (request, reply) => {
    const parameters = formParameters(request, KNOWN, REPEATABLE)
    offerNonce(service, request, reply)
    const credentials = presentedCredentials(request, parameters)
    try {
      const client = await authenticateClient(deps, credentials, 'all')
      noteClient(client.id)
      limitClient(service, request, client, 'client_tokens')
      const grantType = requireParameter(parameters.grant_type, 'grant_type')
      requireSigningOfProfile(deps, client)
      const proof = readTokenProof(deps, client, presentedProof(request, PATH))
      // RFC 8707 §2: "unknown, or malformed"
      if (!parameters.resource.every(isResourceUri)) throw invalidTarget('resource_malformed')
      if (!isGrantType(grantType)) throw unsupportedGrantType()
      const response = await grantHandlers[grantType](deps, client, parameters, proof)
      service.metrics?.countTokens(grantType, countedClient(client.id))
      return await reply.headers(JSON_HEADERS).send(response)
    } catch (error) {
      throw countFailure(service, { request, credentials }, error)
    }
  })
}

type GrantHandler = (deps: Deps, client: Client, parameters: TokenParameters, proof: DpopProof | null) => Promise<TokenResponse>

/** From each grant type to its function in the domain. */
const grantHandlers: Readonly<Record<GrantType, GrantHandler>> = {
  authorization_code: (deps, client, parameters, proof) =>
    exchangeCode(deps, client, {
      code: requireParameter(parameters.code, 'code'),
      redirectUri: requireParameter(parameters.redirect_uri, 'redirect_uri'),
      codeVerifier: parameters.code_verifier,
      resources: parameters.resource,
      proof,
    }),
  refresh_token: (deps, client, parameters, proof) =>
    refresh(deps, client, {
      refreshToken: requireParameter(parameters.refresh_token, 'refresh_token'),
      scope: parameters.scope,
      resources: parameters.resource,
      proof,
    }),
  client_credentials: (deps, client, { scope, resource: resources }, proof) =>
    grantToClient(deps, client, { scope, resources, proof }),
  // RFC 8628 §3.4
  [DEVICE_CODE_GRANT]: (deps, client, { device_code: deviceCode, resource: resources }, proof) =>
    grantToDevice(deps, client, { deviceCode: requireParameter(deviceCode, 'device_code'), resources, proof }),
  // RFC 8693 §2.1
  [TOKEN_EXCHANGE]: (deps, client, parameters, proof) =>
    exchangeToken(deps, client, {
      subjectToken: requireParameter(parameters.subject_token, 'subject_token'),
      subjectTokenType: requireParameter(parameters.subject_token_type, 'subject_token_type'),
      requestedTokenType: parameters.requested_token_type,
      hasActorToken: parameters.actor_token !== null || parameters.actor_token_type !== null,
      scope: parameters.scope,
      resources: parameters.resource,
      audiences: parameters.audience,
      proof,
    }),
}
