/**
 * The claims about the wallet, for an access token with scope `openid` (OpenID Connect Core §5.3).
 *
 * The audience of the token is not checked: the userinfo endpoint belongs to the service and requires only scope `openid`.
 */
import { openLiveAccessToken } from '../../protocol/keys/access-token.ts'
import { insufficientScope, invalidToken } from '../../protocol/oauth/oauth-error.ts'
import { SIGNED_TEXT_SCOPE } from '../../protocol/oauth/standard-scopes.ts'
import type { Deps } from '../model/deps.ts'
import { readAccountClaims, readSignedTextClaims } from './account-claims.ts'
import { type PresentedAccessToken, readProofOfToken, spendProof } from './dpop.ts'
import { readGrantOfToken } from './grant-of-token.ts'

/** `sub`, and the claims of the token's scopes (OpenID Connect Core §5.3.2). Errors are those for bearer tokens (§5.3.3). */
export async function readUserinfo(deps: Deps, request: PresentedAccessToken): Promise<object> {
  const claims = openLiveAccessToken(deps.keys, request.token, { issuer: deps.settings.authUrl, now: deps.now() })
  if (!claims) throw invalidToken('access_token_unknown_or_expired')
  const proof = readProofOfToken(deps, claims, request)
  if (!(await deps.clients.isEnabled(claims.client_id))) throw invalidToken('client_unknown_or_disabled')
  const scopes = claims.scope.split(' ')
  // A token of the client credentials grant has no grant and no wallet.
  if (!scopes.includes('openid') || claims.grant_id === undefined) throw insufficientScope('openid_not_granted')
  const grant = await readGrantOfToken(deps, claims, claims.grant_id)
  if (typeof grant === 'string') throw invalidToken(grant)
  if (proof) await spendProof(deps, proof, claims.client_id)
  const signed = scopes.includes(SIGNED_TEXT_SCOPE) ? await readSignedTextClaims(deps, grant, claims.client_id) : null
  return { sub: claims.sub, ...(await readAccountClaims(deps, grant, scopes)), ...signed }
}
