/** The claims about the account that the scopes of a token add to the ID token and to the userinfo response (OpenID Connect Core §5.4). */
import { claimsOfScopes, NAME_SCOPE, type SignedTextClaims } from '../../protocol/oauth/standard-scopes.ts'
import { shortenAddress } from '../../protocol/wallet/address.ts'
import { openReceipt } from '../consent/receipt.ts'
import type { Deps, SignedInAccount } from '../model/deps.ts'
import type { Grant } from '../model/records.ts'
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

/**
 * The text that the wallet signed for this client, and the signature. null if there is none: the grant rests on a text that names another app,
 * because the user signed in there, or the login server vouched for the wallet, or the receipt is deleted or unreadable. The text of another app
 * would tell this client which app that is.
 */
export async function readSignedTextClaims(deps: Deps, grant: Grant, clientId: string): Promise<SignedTextClaims | null> {
  const { wallet, receiptId } = grant
  const receipt = receiptId === null ? null : await deps.store.receipts.readReceipt(wallet, receiptId)
  const signed = receipt?.clientId === clientId ? openReceipt(deps.keys, receipt) : undefined
  return signed ? { siwe_message: signed.message, siwe_signature: signed.signature } : null
}
