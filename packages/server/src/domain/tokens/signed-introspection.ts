/**
 * An introspection response as a signed JWT (RFC 9701, FAPI 2.0 Message Signing §5.5.1), so that a resource server can prove later what
 * the authorization server responded.
 */

import { signJwt } from '../../protocol/keys/signed-jwt.ts'
import type { SigningKey } from '../../protocol/keys/signing-key.ts'
import { requireSigningOfProfile } from '../clients/profile-signing.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import type { Introspection } from './introspect.ts'
import { signingKeyOf } from './signing-key.ts'

export const SIGNED_INTROSPECTION = 'token-introspection+jwt'

/** §5: `iss`, `aud`, `iat` and the response, also for inactive tokens. Without `sub` and `exp`, the JWT cannot be used as an access token (§8.1). */
export function signIntrospection(deps: Deps, caller: Client, answer: Introspection): string {
  const key = caller.introspectionSigned === null ? usualKey(deps, caller) : signingKeyOf(deps, caller.introspectionSigned)
  const claims = { iss: deps.settings.authUrl, aud: caller.id, iat: deps.now(), token_introspection: answer }
  return signJwt(key, SIGNED_INTROSPECTION, claims)
}

/** If the client registered no algorithm: the key that signs access tokens, which the resource server already has. */
function usualKey(deps: Deps, caller: Client): SigningKey {
  requireSigningOfProfile(deps, caller)
  return deps.keys.maker('sign')
}
