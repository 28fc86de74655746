/**
 * Says whether an access token is active (RFC 7662).
 *
 * A signature tells what was issued, only the ledger tells what still holds: so each question costs one read,
 * and a grant that ended is inactive everywhere from that moment on.
 */
import { openAccessToken } from '../keys/access-token.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'

/** RFC 7662 §2.2, exactly these members and no others. */
export type ActiveToken = {
  active: true
  client_id: string
  exp: number
  iat: number
  iss: string
  jti: string
  scope: string
  sub: string
  token_type: 'Bearer'
}

export type Introspection = ActiveToken | { active: false }

const INACTIVE = { active: false } as const

export async function introspect(deps: Deps, caller: Client, token: string): Promise<Introspection> {
  const claims = openAccessToken(deps.keys, deps.settings.authUrl, token)
  if (!claims || claims.exp <= deps.now()) return INACTIVE
  // §4: a caller learns only of its own tokens, and a resource server of those made for it.
  if (claims.client_id !== caller.id && claims.aud !== caller.resourceServer) return INACTIVE
  const client = await deps.clients.findEnabled(claims.client_id)
  if (!client) return INACTIVE
  const grant = await deps.store.grants.readGrant(claims.grant_id)
  if (!grant || grant.endedAt !== null || grant.expiresAt <= deps.now()) return INACTIVE
  if (claims.jti in grant.revokedTokens) return INACTIVE
  return {
    active: true,
    client_id: claims.client_id,
    exp: claims.exp,
    iat: claims.iat,
    iss: claims.iss,
    jti: claims.jti,
    scope: claims.scope,
    sub: claims.sub,
    token_type: 'Bearer',
  }
}
