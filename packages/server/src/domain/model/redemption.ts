/** The rules of a redemption that both stores apply. A store decides the race for the row, and reads what these functions need. */
import type { Grant } from './records.ts'
import { type NewGrant, REPLACED_AT_MOST, type RedeemOutcome, type RedemptionRefusal } from './request-store.ts'

/** What a session says about a code that was issued in it. `undefined`: the row of the session was deleted. */
export type SessionState = { endedAt: number | null; replacedBy: string | null } | undefined

/** Whether a session is valid, or the hash of the session that replaced it. `followed`: how many replacements led to this session. */
export function followSession(session: SessionState, followed: number): 'valid' | 'ended' | { replacedBy: string } {
  if (session?.endedAt === null) return 'valid'
  if (!session?.replacedBy || followed >= REPLACED_AT_MOST) return 'ended'
  return { replacedBy: session.replacedBy }
}

/** Why a code is refused although no attempt has redeemed it: an ending since the code was issued. */
export function refuseRedemption(
  code: Pick<NewGrant, 'epoch'>,
  now: { epoch: number; session: 'valid' | 'ended' },
): RedemptionRefusal | null {
  if (now.epoch !== code.epoch) return 'epoch_raised'
  return now.session === 'ended' ? 'session_ended' : null
}

/** The outcome for a code whose row is claimed. The same attempt gets its grant again, because the first response may be lost. */
export function redeemAgain(grant: Grant, { claimedBy, attemptId }: { claimedBy: string; attemptId: string }): RedeemOutcome {
  return { kind: claimedBy === attemptId && grant.endedAt === null ? 'redeemed' : 'taken', grant }
}
