/**
 * A token for the client itself, without any user (RFC 6749 §4.4): for builders' own back ends.
 *
 * Nobody agreed to anything, so there is no grant and no row: what such a token may do is what the client is registered for.
 * Its `sub` is the client's id (RFC 9068 §2.2), which never looks like a wallet (RFC 9700 §4.15.1).
 */
import { randomUUID } from 'node:crypto'
import { signAccessToken } from '../keys/access-token.ts'
import { invalidScope, invalidTarget, unauthorizedClient } from '../oauth/oauth-error.ts'
import { isSubset, OPENID_SCOPES, parseScope } from '../oauth/scope.ts'
import type { Deps } from './deps.ts'
import { bindingOf, type DpopProof, spendProof } from './dpop.ts'
import type { Client } from './model.ts'
import type { TokenResponse } from './token-response.ts'

/** The body of the request, parsed (RFC 6749 §4.4.2, RFC 8707 §2.2). */
export type ClientCredentialsRequest = {
  scope: string | null
  resources: string[]
  /** of the key that the access token is to be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

/** They ask about a user, of whom there is none here (OpenID Connect Core §5.4). */
const ABOUT_USERS: ReadonlySet<string> = new Set(OPENID_SCOPES)

export async function grantToClient(deps: Deps, client: Client, request: ClientCredentialsRequest): Promise<TokenResponse> {
  if (!client.grantTypes.includes('client_credentials')) throw unauthorizedClient('grant_type_not_registered')
  const scope = readScopes(client, request.scope).join(' ')
  const aud = readResource(deps, client, request.resources)
  if (request.proof) await spendProof(deps, request.proof)
  const binding = bindingOf(request.proof)
  const at = deps.now()
  const lifetime = deps.settings.lifetimes.accessToken
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

function readScopes(client: Client, asked: string | null): string[] {
  const scopes = asked === null ? client.defaultScopes.filter((scope) => !ABOUT_USERS.has(scope)) : parseScope(asked)
  if (!scopes) throw invalidScope('scope_malformed')
  if (scopes.some((scope) => ABOUT_USERS.has(scope))) throw invalidScope('scope_about_a_user')
  if (!isSubset(scopes, client.scopes)) throw invalidScope('scope_not_allowed')
  if (scopes.length === 0) throw invalidScope('no_scope_left')
  return scopes
}

function readResource(deps: Deps, client: Client, asked: string[]): string {
  if (asked.length > 1) throw invalidTarget('more_than_one_resource')
  const [resource = deps.settings.defaultResource] = asked
  if (resource !== deps.settings.defaultResource && !client.resources.includes(resource))
    throw invalidTarget('resource_not_allowed')
  return resource
}
