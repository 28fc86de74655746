/**
 * The claims about the wallet, for an access token with scope `openid` (OpenID Connect Core §5.3).
 *
 * The audience of the token is not checked: the userinfo endpoint belongs to the service and requires only scope `openid`.
 */
import { type AccessTokenClaims, openAccessToken } from '../../keys/access-token.ts'
import type { TokenScheme } from '../../oauth/bearer-token.ts'
import { insufficientScope, invalidDpopProof, invalidToken } from '../../oauth/oauth-error.ts'
import { claimsOfScopes } from '../../oauth/standard-scopes.ts'
import type { Deps } from '../model/deps.ts'
import { type DpopProof, type PresentedProof, readProof, spendProof } from './dpop.ts'
import { readGrantOfToken } from './grant-of-token.ts'

/** An access token, the authentication scheme, and the unchecked DPoP proof. */
export type UserinfoRequest = { scheme: TokenScheme; token: string; presented: PresentedProof }

/** `sub`, and the claims of the token's scopes (OpenID Connect Core §5.3.2). Errors are those for bearer tokens (§5.3.3). */
export async function readUserinfo(deps: Deps, request: UserinfoRequest): Promise<object> {
  const claims = openAccessToken(deps.keys, deps.settings.authUrl, request.token)
  if (!claims || claims.exp <= deps.now()) throw invalidToken('access_token_unknown_or_expired')
  const proof = proofOf(deps, claims, request)
  if (!(await deps.clients.isEnabled(claims.client_id))) throw invalidToken('client_unknown_or_disabled')
  const scopes = claims.scope.split(' ')
  // A token of the client credentials grant has no grant and no wallet.
  if (!scopes.includes('openid') || claims.grant_id === undefined) throw insufficientScope()
  const grant = await readGrantOfToken(deps, claims, claims.grant_id)
  if (typeof grant === 'string') throw invalidToken(grant)
  if (proof) await spendProof(deps, proof)
  return { sub: claims.sub, ...claimsOfScopes(grant, scopes) }
}

/** RFC 9449 §4.3, §7.1, §7.2: a bound token needs a proof of its key, and an unbound token must not be presented with scheme DPoP. */
function proofOf(deps: Deps, { cnf }: AccessTokenClaims, { scheme, token, presented }: UserinfoRequest): DpopProof | null {
  if (scheme === 'Bearer') {
    if (cnf) throw invalidToken('bound_token_as_bearer')
    return null
  }
  const proof = readProof(deps, presented, token)
  if (proof === null) throw invalidDpopProof('proof_missing')
  if (proof.jkt !== cnf?.jkt) throw invalidToken(cnf ? 'bound_to_another_key' : 'access_token_not_bound')
  return proof
}
