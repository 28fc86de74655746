/** Stores what a wallet signed, and ends earlier grants with scopes that the user has just declined. */
import type { Address } from '../../protocol/wallet/address.ts'
import { type Challenge, requestIdOf } from '../authorization/challenge.ts'
import { endDeclined } from '../consent/end-grants.ts'
import { sealSignedMessage } from '../consent/receipt.ts'
import { type AuthorizationRequest, withScopes } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { DeviceRequest } from '../model/device-request.ts'
import { OF_APPROVALS, OF_NO_APP } from '../model/receipt-kinds.ts'
import type { Receipt, WalletKind } from '../model/records.ts'
import { LoginError } from './login-error.ts'

export type Signed = {
  address: Address
  chainId: number
  message: string
  signature: string
  scopes: string[]
  walletKind: WalletKind
}

/**
 * Inserts the receipt. The id is derived from the challenge, so a second proof for the same challenge is refused. `epoch` is the
 * wallet's epoch before the proof. Returns the epoch that the login continues with.
 */
export async function keepReceipt(
  deps: Deps,
  challenge: Challenge,
  signed: Signed,
  epoch: number,
): Promise<{ receiptId: string; epoch: number }> {
  const receipt = receiptOf(deps, challenge, signed)
  const { wallet, id } = receipt
  const inserted = await deps.store.receipts.insertReceipt(receipt, epoch)
  if (inserted === 'taken') throw new LoginError('already_used', 'receipt_taken')
  if (inserted === 'ended') throw new LoginError('expired', 'ended_since_proof')
  deps.bounds.noteReceipt(receipt)
  const declined = requestOf(challenge)?.scopes.filter((scope) => !signed.scopes.includes(scope)) ?? []
  // The user declined these scopes just now, so no older consent may grant them.
  const currentEpoch = declined.length > 0 ? await endDeclined(deps, receipt, declined, epoch) : epoch
  if (currentEpoch === null) {
    await deps.store.receipts.withdrawReceipt(wallet, id, deps.now())
    throw new LoginError('expired', 'ended_since_proof')
  }
  if (currentEpoch !== epoch)
    await deps.audit({ event: 'scopes_declined', client_id: receipt.clientId, wallet, details: { scopes: declined.join(' ') } })
  return { receiptId: id, epoch: currentEpoch }
}

function receiptOf(deps: Deps, challenge: Challenge, signed: Signed): Receipt {
  const { address, chainId, message, signature, scopes, walletKind } = signed
  const columns = {
    id: requestIdOf(challenge),
    wallet: address,
    chainId,
    scopes,
    ...partiesOf(challenge, scopes),
    issuedAt: challenge.issuedAt,
    // The receipt of an action is kept as long as that of a consent, although the action is over within minutes.
    expiresAt: challenge.purpose.kind === 'approval' ? challenge.issuedAt + deps.settings.lifetimes.grant : challenge.until,
  }
  const sealed = sealSignedMessage(deps.keys, columns, { message, signature })
  return { ...columns, walletKind, withdrawnAt: null, checkedAt: deps.now(), sealed }
}

/** Without a redirect URI, the consent for a device covers no authorization request (`findCoveringReceipt`). */
function partiesOf({ purpose }: Challenge, scopes: string[]): Pick<Receipt, 'clientId' | 'redirectUri' | 'resources'> {
  if (purpose.kind === 'approval') return { clientId: OF_APPROVALS, redirectUri: '', resources: [purpose.approval.resource] }
  if (!('request' in purpose)) return { clientId: OF_NO_APP, redirectUri: '', resources: [] }
  const redirectUri = purpose.kind === 'app' ? purpose.request.redirectUri : ''
  return { clientId: purpose.request.clientId, redirectUri, resources: resourcesOf(purpose.request, scopes) }
}

/** Every resource of a device has every scope. */
function resourcesOf(request: AuthorizationRequest | DeviceRequest, scopes: string[]): string[] {
  return 'scopesByResource' in request ? withScopes(request, scopes).resources : request.resources
}

function requestOf({ purpose }: Challenge): AuthorizationRequest | DeviceRequest | null {
  return 'request' in purpose ? purpose.request : null
}
