/**
 * Whether a contract wallet's signature still holds. Its owners can change: somebody who was removed must not keep
 * tokens alive. An RPC that does not answer rests on the last good check for a grace period, and then is 503.
 */
import { temporarilyUnavailable } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import type { Grant } from './model.ts'
import { openReceipt } from './receipt.ts'

/** Seconds between two notes of a good check. */
const NOTED_EVERY = 60

type RestsOnReceipt = Pick<Grant, 'wallet' | 'receiptId' | 'consented'>

/** Throws 503 where nobody can tell any more. */
export async function checkReceipt(deps: Deps, grant: RestsOnReceipt): Promise<'holds' | 'withdrawn' | 'wallet_changed'> {
  const receipt = grant.receiptId === null ? null : await deps.store.receipts.readReceipt(grant.wallet, grant.receiptId)
  const signed = receipt && openReceipt(deps.keys, receipt)
  if (!receipt || !signed) return 'withdrawn'
  // The text of the session's sign-in may be another app's: ending that app says nothing about this grant.
  if (grant.consented && receipt.withdrawnAt !== null) return 'withdrawn'

  const at = deps.now()
  const claim = { ...signed, address: receipt.wallet, chainId: receipt.chainId }
  const verdict = await deps.contractWallets?.check(claim)
  if (verdict?.kind === 'not_proven' || verdict?.kind === 'malformed') return 'wallet_changed'
  if (verdict?.kind === 'valid') {
    if (at - receipt.checkedAt >= NOTED_EVERY) await deps.store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, at)
    return 'holds'
  }
  // A last check in the future is no check: a clock that jumped back must not lengthen the grace.
  const since = at - receipt.checkedAt
  if (since < 0 || since >= deps.settings.lifetimes.contractGrace) throw temporarilyUnavailable('contract_could_not_be_checked')
  return 'holds'
}
