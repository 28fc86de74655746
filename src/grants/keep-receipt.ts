/** Keeps what a wallet signed, and lets go of what it says is over. */
import type { Address } from '../wallet/address.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { type Challenge, requestIdOf } from './challenge.ts'
import type { Deps } from './deps.ts'
import { endDeclined } from './end-grants.ts'
import { LoginError } from './login-error.ts'
import type { Receipt, WalletKind } from './model.ts'
import { sealSignedMessage } from './receipt.ts'

export type Signed = {
  address: Address
  chainId: number
  message: string
  signature: string
  scopes: string[]
  walletKind: WalletKind
}

/**
 * Puts the receipt. Its id is the challenge's own, so a second proof of the same challenge finds it taken.
 * `epoch` is the wallet's from before the proof; returned is the one that the login goes on with.
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
  const declined = requestOf(challenge)?.scopes.filter((scope) => !signed.scopes.includes(scope)) ?? []
  // What was switched off just now must not come back through an older consent.
  const standing = declined.length > 0 ? await endDeclined(deps, receipt, declined, epoch) : epoch
  if (standing === null) {
    await deps.store.receipts.withdrawReceipt(wallet, id, deps.now())
    throw new LoginError('expired', 'ended_since_proof')
  }
  return { receiptId: id, epoch: standing }
}

function receiptOf(deps: Deps, challenge: Challenge, signed: Signed): Receipt {
  const { address, chainId, message, signature, scopes, walletKind } = signed
  const request = requestOf(challenge)
  return {
    id: requestIdOf(challenge),
    wallet: address,
    walletKind,
    chainId,
    clientId: request?.clientId ?? '',
    redirectUri: request?.redirectUri ?? '',
    scopes,
    resources: request?.resources ?? [],
    issuedAt: challenge.issuedAt,
    expiresAt: challenge.until,
    withdrawnAt: null,
    checkedAt: deps.now(),
    sealed: sealSignedMessage(deps.keys, { message, signature }),
  }
}

function requestOf({ purpose }: Challenge): AuthorizationRequest | null {
  return purpose.kind === 'app' ? purpose.request : null
}
