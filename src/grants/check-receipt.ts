/**
 * Whether a contract wallet's signature still holds. Its owners can change: somebody who was removed must not keep
 * tokens alive. An RPC that does not answer rests on the last good check for a grace period, and then is 503.
 */
import { walletUnavailable } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import { endSessions } from './end-grants.ts'
import type { Grant, Receipt, Session } from './model.ts'
import { openReceipt } from './receipt.ts'
import { findSession } from './session.ts'

/** Seconds between two notes of a good check. */
const NOTED_EVERY = 60

type RestsOnReceipts = Pick<Grant, 'wallet' | 'walletKind' | 'receiptId' | 'sessionReceiptId' | 'consented'>

/** False for an ordinary wallet, and for one that was only vouched for: there is no signature to check again. */
export function restsOnContract({
  walletKind,
  receiptId,
  sessionReceiptId,
}: Omit<RestsOnReceipts, 'wallet' | 'consented'>): boolean {
  return walletKind === 'contract' && (receiptId ?? sessionReceiptId) !== null
}

type Verdict = 'holds' | 'withdrawn' | 'wallet_changed'

/**
 * Checks the signature that a grant's session began with, and the one that consented. A consent that another owner of the same
 * contract signed does not stand in for the session's own. Throws 503 if a signature can no longer be checked.
 */
export async function checkReceipts(deps: Deps, grant: RestsOnReceipts): Promise<Verdict> {
  const { wallet, receiptId, sessionReceiptId, consented } = grant
  if (!restsOnContract(grant)) return 'holds'
  if (sessionReceiptId !== null) {
    const verdict = await checkReceipt(deps, { wallet, receiptId: sessionReceiptId, consented: false })
    if (verdict !== 'holds') return verdict
  }
  return receiptId === null ? 'holds' : checkReceipt(deps, { wallet, receiptId, consented })
}

/**
 * The session of this browser, if it holds and a contract wallet's owner is one still. A session whose proof no longer holds is
 * ended. Throws 503 if the proof can no longer be checked.
 */
export async function findProvenSession(deps: Deps, sessionId: string | null): Promise<Session | null> {
  const session = await findSession(deps, sessionId)
  if (session?.walletKind !== 'contract' || session.receiptId === null) return session
  const { wallet, receiptId } = session
  return (await checkReceipt(deps, { wallet, receiptId, consented: false })) === 'holds' ? session : null
}

type OneReceipt = { wallet: Grant['wallet']; receiptId: string; consented: boolean }

async function checkReceipt(deps: Deps, { wallet, receiptId, consented }: OneReceipt): Promise<Verdict> {
  const receipt = await deps.store.receipts.readReceipt(wallet, receiptId)
  const signed = receipt && openReceipt(deps.keys, receipt)
  if (!receipt || !signed) return 'withdrawn'
  // The text of the session's sign-in may be another app's: ending that app says nothing about this grant.
  if (consented && receipt.withdrawnAt !== null) return 'withdrawn'

  // An address that has proved itself by its own key since then is no contract's, whatever an RPC says.
  if ((await deps.store.wallets.readWallet(receipt.wallet)).provedItself) return giveUp(deps, receipt)

  const at = deps.now()
  const claim = { ...signed, address: receipt.wallet, chainId: receipt.chainId, network: null }
  const verdict = await deps.contractWallets?.check(claim)
  if (verdict?.kind === 'not_proven' || verdict?.kind === 'malformed') return giveUp(deps, receipt)
  if (verdict?.kind === 'valid') {
    if (at - receipt.checkedAt >= NOTED_EVERY) await deps.store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, at)
    return 'holds'
  }
  // A last check in the future is no check: a clock that jumped back must not lengthen the grace.
  const since = at - receipt.checkedAt
  if (since < 0 || since >= deps.settings.lifetimes.contractGrace) throw walletUnavailable()
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
