/**
 * What the owner of an access token with scope `openid` may know about the wallet (OpenID Connect Core §5.3).
 *
 * Any such token will do, whatever API it is for: this endpoint is the service's own, and `openid` is what it asks for.
 */
import { type AccessTokenClaims, openAccessToken } from '../keys/access-token.ts'
import type { TokenScheme } from '../oauth/bearer-token.ts'
import { insufficientScope, invalidDpopProof, invalidToken } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import { type DpopProof, type PresentedProof, readProof, spendProof } from './dpop.ts'
import { walletClaims } from './id-token.ts'

/** An access token, how it was presented, and what came along to prove its key. */
export type UserinfoRequest = { scheme: TokenScheme; token: string; presented: PresentedProof }

/** `sub`, and what scope `wallet` adds (OpenID Connect Core §5.3.2); refused as bearer tokens are (§5.3.3). */
export async function readUserinfo(deps: Deps, request: UserinfoRequest): Promise<object> {
  const claims = openAccessToken(deps.keys, deps.settings.authUrl, request.token)
  if (!claims || claims.exp <= deps.now()) throw invalidToken('access_token_unknown_or_expired')
  const proof = proofOf(deps, claims, request)
  const client = await deps.clients.findEnabled(claims.client_id)
  if (!client) throw invalidToken('client_unknown_or_disabled')
  const scopes = claims.scope.split(' ')
  // A client's own token has no grant, and tells of no wallet.
  if (!scopes.includes('openid') || claims.grant_id === undefined) throw insufficientScope()
  // A signature tells what was issued, only the ledger tells what still holds.
  const grant = await deps.store.grants.readGrant(claims.grant_id)
  if (!grant || grant.endedAt !== null || grant.expiresAt <= deps.now()) throw invalidToken('grant_ended')
  if (claims.jti in grant.revokedTokens) throw invalidToken('access_token_revoked')
  if (proof) await spendProof(deps, proof)
  return { sub: claims.sub, ...walletClaims(grant, scopes) }
}

/** RFC 9449 §4.3, §7.1, §7.2: a token bound to a key is none without the proof of that key, and no other is one with it. */
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
