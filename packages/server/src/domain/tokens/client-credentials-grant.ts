/**
 * The client credentials grant (RFC 6749 §4.4): a token for the client, without a user.
 *
 * No user consents, so the token has no grant and no row. The client's registration alone limits what the token allows.
 * The token's `sub` is the client id (RFC 9068 §2.2), which cannot be confused with a wallet address (RFC 9700 §4.15.1).
 */
import { randomUUID } from 'node:crypto'
import { parseScope } from '@grantor/protocol/scope'
import { signAccessToken } from '../../protocol/keys/access-token.ts'
import { invalidScope, invalidTarget, scopeOfNoResource, unauthorizedClient } from '../../protocol/oauth/oauth-error.ts'
import { requireScopes } from '../../protocol/oauth/require-scopes.ts'
import { isStandardScope } from '../../protocol/oauth/standard-scopes.ts'
import { accessTokenLifetime } from '../model/client-lifetimes.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { mayRequest, scopesAt, scopesOfNoResource } from '../resources/scopes-at.ts'
import { bindingOf, type DpopProof, spendProof } from './dpop.ts'
import type { TokenResponse } from './token-response.ts'

/** The parsed body of the request (RFC 6749 §4.4.2, RFC 8707 §2.2). */
export type ClientCredentialsRequest = {
  scope: string | null
  resources: string[]
  /** a proof of the key that the access token will be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

export async function grantToClient(deps: Deps, client: Client, request: ClientCredentialsRequest): Promise<TokenResponse> {
  if (!client.grantTypes.includes('client_credentials')) throw unauthorizedClient('grant_type_not_registered')
  const aud = readResource(deps, client, request.resources)
  const scope = readScopes(deps, client, aud, request).join(' ')
  // The client is in memory, and another node may have disabled it.
  deps.keys.requireRecent()
  if (request.proof) await spendProof(deps, request.proof, client.id)
  const binding = bindingOf(request.proof)
  const at = deps.now()
  const lifetime = accessTokenLifetime(deps.settings.lifetimes, client)
  const accessToken = signAccessToken(deps.keys, {
    iss: deps.settings.authUrl,
    sub: client.id,
    aud,
    client_id: client.id,
    exp: at + lifetime,
    iat: at,
    jti: randomUUID(),
    scope,
    ...(binding === null ? {} : { cnf: binding }),
  })
  deps.audit({ event: 'client_token_issued', client_id: client.id })
  // §4.4.3: "A refresh token SHOULD NOT be included."
  return { access_token: accessToken, token_type: binding === null ? 'Bearer' : 'DPoP', expires_in: lifetime, scope }
}

function readScopes(deps: Deps, client: Client, resource: string, request: ClientCredentialsRequest): string[] {
  const { scope: requested, resources } = request
  const isLimited = (scope: string): boolean => deps.resources.limitOf(resource, scope) !== undefined
  const scopes =
    requested === null
      ? client.defaultScopes.filter((scope) => !isStandardScope(scope) && !isLimited(scope))
      : parseScope(requested)
  if (!scopes) throw invalidScope('scope_malformed')
  // These scopes request claims about a user (OpenID Connect Core §5.4). This grant has no user.
  requireScopes(scopes, (each) => !isStandardScope(each), 'scope_about_a_user')
  requireScopes(scopes, (each) => client.scopes.includes(each), 'scope_not_allowed')
  requireScopes(scopes, (each) => !isLimited(each), 'scope_with_limit')
  const own = scopesAt(deps, client, resource, scopes)
  const isOfAnother = requested === null ? own.length === 0 && scopes.length > 0 : own.length < scopes.length
  const [impossible] = isOfAnother ? scopesOfNoResource(deps, client, scopes) : []
  if (impossible !== undefined) throw scopeOfNoResource(impossible)
  if (isOfAnother) throw invalidScope(resources.length === 0 ? 'resource_missing' : 'scope_of_another_resource')
  if (own.length === 0) throw invalidScope('no_scope_left')
  return own
}

function readResource(deps: Deps, client: Client, requested: string[]): string {
  if (requested.length > 1) throw invalidTarget('more_than_one_resource')
  const [resource = deps.settings.defaultResource] = requested
  if (!mayRequest(deps, client, resource)) throw invalidTarget('resource_not_allowed')
  return resource
}
