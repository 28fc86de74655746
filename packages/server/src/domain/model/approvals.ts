/**
 * The rules of approvals, as pure functions, so that both stores apply one rule. SQLite calls `decideAnswer` and `decideUse` between the read and the
 * update of one transaction. PostgreSQL updates the row with the same rule as a condition, and calls the function if no row changed.
 */
import type { Approval, ApprovalAnswer, ApprovalStore, ApprovalUse, AskedBefore, UseOutcome } from './approval-store.ts'

/** The approvals of one grant that wait for an answer. More would be a list that the user signs without reading. */
export const WAITING_OF_GRANT_AT_MOST = 5
/** The same for a wallet, for all its grants together. */
export const WAITING_OF_WALLET_AT_MOST = 20
/** The approvals that the apps of one grant can ask for within `ASKED_WITHIN`. */
export const ASKED_AT_MOST = 60
/** In seconds. The caller counts with `since` this long ago. */
export const ASKED_WITHIN = 3600
/** If the user declines so often within `DECLINED_WITHIN`, the grant must pause. */
export const DECLINED_AT_MOST = 2
/** In seconds. The pause is as long, from the last time that the user declined. */
export const DECLINED_WITHIN = 3600
/** In seconds: when to ask again if approvals wait. The user can answer at any time, so this is a guess. */
const WAITING_RETRY_AFTER = 60

/** `last`: the user wants no more questions from this grant. `retryAfter`: in seconds; null if asking again has no use. */
export type AskRefusal = {
  reason: 'last' | 'declined_twice' | 'waiting' | 'hourly' | 'wallet_waiting'
  retryAfter: number | null
}

/**
 * Whether the apps of a grant may ask for one more approval. `walletWaiting`: the number of approvals of the wallet that wait for an answer. Requests that
 * race can exceed a bound by their number.
 */
export function decideAsk(
  asked: AskedBefore,
  { walletWaiting, at }: { walletWaiting: number; at: number },
): 'allowed' | AskRefusal {
  if (asked.isLast) return { reason: 'last', retryAfter: null }
  const pausedUntil = asked.declined < DECLINED_AT_MOST ? 0 : asked.lastDeclinedAt + DECLINED_WITHIN
  if (pausedUntil > at) return { reason: 'declined_twice', retryAfter: pausedUntil - at }
  if (asked.waiting >= WAITING_OF_GRANT_AT_MOST) return { reason: 'waiting', retryAfter: WAITING_RETRY_AFTER }
  if (asked.asked >= ASKED_AT_MOST) return { reason: 'hourly', retryAfter: Math.max(1, asked.firstAskedAt + ASKED_WITHIN - at) }
  if (walletWaiting >= WAITING_OF_WALLET_AT_MOST) return { reason: 'wallet_waiting', retryAfter: WAITING_RETRY_AFTER }
  return 'allowed'
}

type AnswerOutcome = Awaited<ReturnType<ApprovalStore['answer']>>

/** `answer`: the row gets this answer. Otherwise the row stays as it is. */
export function decideAnswer(
  approval: Approval | null,
  { receiptId, isLast, at }: ApprovalAnswer,
): { change: 'answer' } | { change: 'none'; outcome: AnswerOutcome } {
  if (!approval) return { change: 'none', outcome: 'unknown' }
  if (approval.answeredAt === null)
    return approval.expiresAt > at ? { change: 'answer' } : { change: 'none', outcome: 'too_late' }
  const isSame = approval.receiptId === receiptId && approval.isLast === isLast
  return { change: 'none', outcome: isSame ? 'answered' : 'answered_before' }
}

/** What decides about a use. `usedBy`: the attempt that used the approval. `isAlive`: whether the grant has neither ended nor expired. */
export type UsableApproval = { approval: Approval; usedBy: string | null; isAlive: boolean }

/** `use`: the row gets this use. Otherwise the row stays as it is. */
export function decideUse(
  found: UsableApproval | null,
  { clientId, attemptId, signedFor, at }: ApprovalUse,
): { change: 'use' } | { change: 'none'; outcome: UseOutcome } {
  if (!found || found.approval.clientId !== clientId) return { change: 'none', outcome: { kind: 'unknown' } }
  const { approval, usedBy, isAlive } = found
  // This attempt already used the approval, and its result was lost. Checked before the grant, which may have ended since.
  if (approval.usedAt !== null)
    return { change: 'none', outcome: usedBy === attemptId ? { kind: 'used', approval } : { kind: 'used_before' } }
  const { answeredAt, receiptId } = approval
  if (receiptId !== null && answeredAt !== null && answeredAt + signedFor > at && isAlive) return { change: 'use' }
  return { change: 'none', outcome: { kind: 'not_usable', approval } }
}
