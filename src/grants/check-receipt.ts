/**
 * Whether a contract wallet's signature still holds. Its owners can change: somebody who was removed must not keep
 * tokens alive. An RPC that does not answer rests on the last good check for a grace period, and then is 503.
 */
import { walletUnavailable } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import { endSessions } from './end-grants.ts'
import type { Grant, Receipt } from './model.ts'
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

  // An address that has proved itself by its own key since then is no contract's, whatever an RPC says.
  if ((await deps.store.wallets.readWallet(receipt.wallet)).provedItself) return giveUp(deps, receipt)

  const at = deps.now()
  const claim = { ...signed, address: receipt.wallet, chainId: receipt.chainId }
  const verdict = await deps.contractWallets?.check(claim)
  if (verdict?.kind === 'not_proven' || verdict?.kind === 'malformed') return giveUp(deps, receipt)
  if (verdict?.kind === 'valid') {
    if (at - receipt.checkedAt >= NOTED_EVERY) await deps.store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, at)
    return 'holds'
  }
  // A last check in the future is no check: a clock that jumped back must not lengthen the grace.
  const since = at - receipt.checkedAt
  if (since < 0 || since >= deps.settings.lifetimes.contractGrace) throw walletUnavailable('contract_could_not_be_checked')
  return 'holds'
}

/**
 * What rests on the signature goes with it. A session or a consent that stayed would give codes that are never redeemed,
 * and whoever owns the wallet now would not be asked for a signature of theirs.
 */
async function giveUp(deps: Deps, { wallet, id }: Receipt): Promise<'wallet_changed'> {
  await deps.store.receipts.withdrawReceipt(wallet, id, deps.now())
  await endSessions(deps, wallet, ({ receiptId }) => receiptId === id)
  return 'wallet_changed'
}
