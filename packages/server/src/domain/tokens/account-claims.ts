/** The claims about the account that the scopes of a token add to the ID token and to the userinfo response (OpenID Connect Core §5.4). */
import { claimsOfScopes, NAME_SCOPE } from '../../protocol/oauth/standard-scopes.ts'
import { shortenAddress } from '../../protocol/wallet/address.ts'
import type { Deps, SignedInAccount } from '../model/deps.ts'
import { makePictureUrl } from './picture-link.ts'

/** Waits for a name for 300 milliseconds at most, and does not fail: without a name, the short form of the address is the name. */
export async function readAccountClaims(
  deps: Deps,
  grant: SignedInAccount,
  scopes: readonly string[],
): Promise<Record<string, string | number>> {
  const { wallet, chainId } = grant
  const name = scopes.includes(NAME_SCOPE) ? await deps.accountNames?.find(grant) : null
  return claimsOfScopes({ wallet, chainId, name: name ?? shortenAddress(wallet), picture: makePictureUrl(deps, grant) }, scopes)
}
