/**
 * Checks again whether the signature of a contract wallet is valid (ERC-4361). The owners of the contract can change, and a former owner
 * must not keep tokens. If the chain does not respond, the last successful check counts for a grace period. After that the status is 503.
 */
import { walletUnavailable } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { Grant, Receipt, Session } from '../model/records.ts'
import { endSessions } from './end-grants.ts'
import { openReceipt } from './receipt.ts'
import { findSession } from './session.ts'

/** Seconds after which a successful check is stored again. */
const STORED_EVERY = 60

type RestsOnReceipts = Pick<Grant, 'wallet' | 'walletKind' | 'receiptId' | 'sessionReceiptId' | 'consented'>

/** False for an ordinary wallet, and if the login server vouched for the wallet: then no signature must be checked again. */
export function restsOnContract({
  walletKind,
  receiptId,
  sessionReceiptId,
}: Omit<RestsOnReceipts, 'wallet' | 'consented'>): boolean {
  return walletKind === 'contract' && (receiptId ?? sessionReceiptId) !== null
}

type ReceiptVerdict = 'holds' | 'withdrawn' | 'wallet_changed'

/**
 * Checks the signature of the session's sign-in and the signature of the consent. Both must be valid, because different owners of the
 * contract may have signed them. Throws 503 if a signature cannot be checked.
 */
export async function checkReceipts(deps: Deps, grant: RestsOnReceipts): Promise<ReceiptVerdict> {
  const { wallet, receiptId, sessionReceiptId, consented } = grant
  if (!restsOnContract(grant)) return 'holds'
  if (sessionReceiptId !== null) {
    const verdict = await checkReceipt(deps, { wallet, receiptId: sessionReceiptId, consented: false })
    if (verdict !== 'holds') return verdict
  }
  return receiptId === null ? 'holds' : checkReceipt(deps, { wallet, receiptId, consented })
}

/**
 * The valid session of this browser. For a contract wallet the signature of the sign-in is checked again. If that signature is
 * no longer valid, the session ends. Throws 503 if the signature cannot be checked.
 */
export async function findProvenSession(deps: Deps, sessionId: string | null): Promise<Session | null> {
  const session = await findSession(deps, sessionId)
  if (session?.walletKind !== 'contract' || session.receiptId === null) return session
  const { wallet, receiptId } = session
  return (await checkReceipt(deps, { wallet, receiptId, consented: false })) === 'holds' ? session : null
}

type OneReceipt = { wallet: Grant['wallet']; receiptId: string; consented: boolean }

async function checkReceipt(deps: Deps, { wallet, receiptId, consented }: OneReceipt): Promise<ReceiptVerdict> {
  const receipt = await deps.store.receipts.readReceipt(wallet, receiptId)
  const signed = receipt && openReceipt(deps.keys, receipt)
  if (!receipt || !signed) return 'withdrawn'
  // The sign-in may have been the consent to another app. If the user ended that app, this grant stays valid.
  if (consented && receipt.withdrawnAt !== null) return 'withdrawn'

  // An address that has signed with the address's key since then is never treated as a contract.
  if ((await deps.store.wallets.readWallet(receipt.wallet)).provedItself) return withdraw(deps, receipt)

  const at = deps.now()
  const claim = { ...signed, address: receipt.wallet, chainId: receipt.chainId, network: null }
  const verdict = await deps.contractWallets?.check(claim)
  if (verdict?.kind === 'not_proven' || verdict?.kind === 'malformed') return withdraw(deps, receipt)
  if (verdict?.kind === 'valid') {
    if (at - receipt.checkedAt >= STORED_EVERY) await deps.store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, at)
    return 'holds'
  }
  // A last check in the future does not count: a clock that jumped back must not extend the grace period.
  const since = at - receipt.checkedAt
  if (since < 0 || since >= deps.settings.lifetimes.contractGrace) throw walletUnavailable()
  return 'holds'
}

/**
 * Withdraws the receipt and ends the sessions that began with it. Otherwise they would produce codes that cannot be redeemed, and the
 * present owner of the wallet would not get a login page.
 */
async function withdraw(deps: Deps, { wallet, id }: Receipt): Promise<'wallet_changed'> {
  await deps.store.receipts.withdrawReceipt(wallet, id, deps.now())
  await endSessions(deps, wallet, ({ receiptId }) => receiptId === id)
  return 'wallet_changed'
}
