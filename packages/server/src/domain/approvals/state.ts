/** The state of an approval, as the API that asked and the pages read it. */
import { showUserCode } from '../../protocol/oauth/user-code.ts'
import type { Approval } from '../model/approval-store.ts'
import type { Deps } from '../model/deps.ts'
import { isOver } from '../model/ended-grants.ts'
import { writeApprovalId } from './approval-id.ts'

/** Seconds in which the user can answer. */
export const ANSWERED_WITHIN = 600
/** Seconds from the signature in which the API can use an approval. */
export const USED_WITHIN = 600
/** Seconds between two requests of an API that polls. */
const POLL_INTERVAL = 5

/** `ended`: the grant has ended, and every approval with it. */
export type ApprovalState = 'waiting' | 'signed' | 'declined' | 'expired' | 'ended' | 'used'

export type ApprovalAnswer = {
  approval_id: string
  approval_uri: string
  user_code: string
  state: ApprovalState
  /** seconds in which the user can answer or, after the signature, the API can use the approval; else 0 */
  expires_in: number
  interval: number
}

function stateOf(approval: Approval, now: number): Exclude<ApprovalState, 'ended'> {
  if (approval.usedAt !== null) return 'used'
  if (approval.answeredAt !== null && approval.receiptId === null) return 'declined'
  if (endOf(approval) <= now) return 'expired'
  return approval.answeredAt === null ? 'waiting' : 'signed'
}

/** When an approval expires without an answer, or without a use. */
function endOf({ answeredAt, expiresAt }: Approval): number {
  return answeredAt === null ? expiresAt : answeredAt + USED_WITHIN
}

/** The last moment at which an approval can be used: the user signs in the last second, and then the API waits. */
export function lastUse({ expiresAt }: Pick<Approval, 'expiresAt'>): number {
  return expiresAt + USED_WITHIN
}

/** As `stateOf`. Reads the grant if the approval could still be answered or used. */
export async function readState(deps: Deps, approval: Approval): Promise<ApprovalState> {
  const state = stateOf(approval, deps.now())
  if (state !== 'waiting' && state !== 'signed') return state
  const grant = await deps.store.grants.readGrantValidity(approval.grantId)
  return grant === null || isOver(grant, deps.now()) ? 'ended' : state
}

export function describeApproval({ settings, now }: Deps, approval: Approval, state: ApprovalState): ApprovalAnswer {
  const isOpen = state === 'waiting' || state === 'signed'
  return {
    approval_id: writeApprovalId(approval),
    approval_uri: approvalUrl(settings, approval),
    user_code: showUserCode(approval.userCode),
    state,
    expires_in: isOpen ? endOf(approval) - now() : 0,
    interval: POLL_INTERVAL,
  }
}

/** The page on which the user answers. */
export function approvalUrl({ authUrl }: Deps['settings'], approval: Pick<Approval, 'grantId' | 'id'>): string {
  return `${authUrl}/approve/${writeApprovalId(approval)}`
}
