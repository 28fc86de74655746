/**
 * Token introspection (RFC 7662).
 *
 * The signature only proves that a token was issued, so each introspection reads the grant. When a grant ends, the tokens are inactive
 * on every node from that moment on.
 */

import { openLiveAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims, ActorClaim } from '../../protocol/keys/access-token-claims.ts'
import { type PlatformClaims, platformClaimsOf } from '../../protocol/keys/platform-claims.ts'
import { hasTokensWithoutUser } from '../../protocol/oauth/grant-types.ts'
import type { Deps } from '../model/deps.ts'
import { hashOfUse } from '../model/hash-of-use.ts'
import type { Client } from '../model/records.ts'
import { findFaultOfToken } from './grant-of-token.ts'

/**
 * RFC 7662 §2.2: exactly these members. `aud` is present only if the caller is a resource server, `cnf` only if the token is bound to a key, and
 * `act` only if the token was issued in exchange for another one (RFC 8693 §4.1). The claims of the operator's hook are only for the resource server
 * of the token's audience.
 */
export type ActiveToken = {
  active: true
  client_id: string
  exp: number
  iat: number
  iss: string
  jti: string
  scope: string
  sub: string
  token_type: 'Bearer' | 'DPoP'
  aud?: string
  cnf?: { jkt: string }
  act?: ActorClaim
} & PlatformClaims

export type Introspection = ActiveToken | { active: false }

const INACTIVE = { active: false } as const

export async function introspect(deps: Deps, caller: Client, token: string): Promise<Introspection> {
  const claims = openLiveAccessToken(deps.keys, token, { issuer: deps.settings.authUrl, now: deps.now() })
  if (!claims) return INACTIVE
  // §2.3, §4: a client can introspect only tokens that were issued to the client; a resource server, all tokens for its audience.
  if (claims.client_id !== caller.id && claims.aud !== caller.resourceServer) return INACTIVE
  if (!(await deps.clients.isEnabled(claims.client_id)) || !(await isStillValid(deps, claims))) return INACTIVE
  return {
    active: true,
    client_id: claims.client_id,
    exp: claims.exp,
    iat: claims.iat,
    iss: claims.iss,
    jti: claims.jti,
    scope: claims.scope,
    sub: claims.sub,
    // RFC 9449 §6.2: for a bound token, token_type "MUST contain the value DPoP"
    ...(claims.cnf ? { token_type: 'DPoP', cnf: claims.cnf } : { token_type: 'Bearer' }),
    // Libraries of resource servers compare the audience (decision 0024). Other clients get the nine members of the specification.
    ...(caller.resourceServer !== null && { aud: claims.aud }),
    ...(claims.act && { act: claims.act }),
    ...(claims.aud === caller.resourceServer && platformClaimsOf(claims)),
  }
}

/** Reads the grant, or, for a token of the client credentials grant, whether the token was revoked. */
export async function isStillValid(deps: Deps, claims: AccessTokenClaims): Promise<boolean> {
  const { client_id: clientId, grant_id: grantId, jti } = claims
  if (grantId !== undefined) return (await findFaultOfToken(deps, claims, grantId)) === null
  const client = await deps.clients.findRegistered(clientId)
  if (client === null || !hasTokensWithoutUser(client.grantTypes)) return false
  return !(await deps.store.spent.readSpent('access_token', hashOfUse(clientId, jti)))
}
