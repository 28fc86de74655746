/**
 * Token introspection (RFC 7662).
 *
 * The signature only proves that a token was issued, so each introspection reads the grant. When a grant ends, the tokens are inactive
 * on every node from that moment on.
 */

import type { Limit } from '@grantor/protocol/limit'
import { openLiveAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims, ActorClaim } from '../../protocol/keys/access-token-claims.ts'
import { type PlatformClaims, platformClaimsOf } from '../../protocol/keys/platform-claims.ts'
import { hasTokensWithoutUser } from '../../protocol/oauth/grant-types.ts'
import type { Deps } from '../model/deps.ts'
import { mayDraw } from '../model/draws.ts'
import { hashOfUse } from '../model/hash-of-use.ts'
import { describeLeft, type LeftOnWire, placeOf } from '../model/limit-left.ts'
import type { Client } from '../model/records.ts'
import type { GrantValidity } from '../model/request-store.ts'
import { readValidityOfToken } from './grant-of-token.ts'

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
  /** only for the resource server of the resource whose scope has the limit */
  limit?: Limit & { scope: string }
  left?: LeftOnWire
} & PlatformClaims

export type Introspection = ActiveToken | { active: false }

const INACTIVE = { active: false } as const

export async function introspect(deps: Deps, caller: Client, token: string): Promise<Introspection> {
  const claims = openLiveAccessToken(deps.keys, token, { issuer: deps.settings.authUrl, now: deps.now() })
  if (!claims) return INACTIVE
  // §2.3, §4: a client can introspect only tokens that were issued to the client; a resource server, all tokens for its audience.
  if (claims.client_id !== caller.id && claims.aud !== caller.resourceServer) return INACTIVE
  if (!(await deps.clients.isEnabled(claims.client_id))) return INACTIVE
  const grant = await readValidGrant(deps, claims)
  if (grant === 'invalid') return INACTIVE
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
    ...(claims.aud === caller.resourceServer && { ...platformClaimsOf(claims), ...limitOf(deps, claims, grant) }),
  }
}

/** Reads the grant, or, for a token of the client credentials grant, whether the token was revoked. */
export async function isStillValid(deps: Deps, claims: AccessTokenClaims): Promise<boolean> {
  return (await readValidGrant(deps, claims)) !== 'invalid'
}

/** Null for a valid token without a grant. */
async function readValidGrant(deps: Deps, claims: AccessTokenClaims): Promise<GrantValidity | null | 'invalid'> {
  const { client_id: clientId, grant_id: grantId, jti } = claims
  if (grantId !== undefined) {
    const grant = await readValidityOfToken(deps, claims, grantId)
    return typeof grant === 'string' ? 'invalid' : grant
  }
  const client = await deps.clients.findRegistered(clientId)
  if (client === null || !hasTokensWithoutUser(client.grantTypes)) return 'invalid'
  return (await deps.store.spent.readSpent('access_token', hashOfUse(clientId, jti))) ? 'invalid' : null
}

/** The limit that the wallet signed for this resource, and what is left of it. */
function limitOf(deps: Deps, claims: AccessTokenClaims, grant: GrantValidity | null): Pick<ActiveToken, 'limit' | 'left'> {
  const signed = grant?.signedLimit
  if (!grant || !signed || !mayDraw(signed, placeOf(claims))) return {}
  const left = describeLeft(grant, deps.now())
  return { limit: { scope: signed.scope, ...signed.limit }, ...(left && { left }) }
}
