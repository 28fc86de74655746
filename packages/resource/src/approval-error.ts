import { ResourceError } from './resource-error.ts'
import type { ResourceReason } from './resource-reasons.ts'

/** What each state of an approval means for the caller. A signed approval is used at once, so `signed` is no state of a refusal. */
const DETAILS = {
  waiting:
    'The user has not signed this action yet. Open the link, compare the letters, and repeat the call after the signature.',
  declined: 'The user declined this action.',
  expired: 'The user did not sign this action in time, or the signed action was not done in time. Start the action again.',
  used: 'The signature of the user was used by an earlier call. Start the action again if it was not done.',
  ended: 'The user ended the access of the app, so the signature cannot be used.',
} as const

export type ApprovalState = keyof typeof DETAILS

/** One title for each code (RFC 9457 §3.1.3: the title is the same for each occurrence). */
const TITLES = {
  approval_required: 'The user must sign this action.',
  approval_key_used: 'The key of this action was used for another action.',
  approvals_declined: 'The user wants no more questions from this app.',
  too_many_approvals: 'The user was asked too often.',
  temporarily_unavailable: 'The approval of the user cannot be checked at the moment.',
} as const

type Code = keyof typeof TITLES

/** The body of the response to the caller, as `application/problem+json` (RFC 9457). */
export interface ApprovalProblem {
  /** `urn:grantor:problem:` and the error code, such as `approval_required`. */
  type: string
  /** One sentence in plain words, fixed for each type. */
  title: string
  status: number
  /** What the caller can do, in plain words. */
  detail: string
  /** Only with the type `approval_required`. */
  state?: ApprovalState
  /** The page on which the user signs; only with the state `waiting`. */
  approval_uri?: string
  /** The letters that the user compares with those on the page, such as `WDJB-MJHT`; only with the state `waiting`. */
  user_code?: string
  /** Seconds in which the user can still sign; only with the state `waiting`. */
  expires_in?: number
  /** Seconds until the caller repeats the call, as in `Retry-After`; only with the state `waiting`. */
  interval?: number
}

interface ApprovalRefusal {
  status: 403 | 409 | 429 | 503
  error: Code
  description: string
  reason: ResourceReason
  state?: ApprovalState
  open?: OpenApproval
  retryAfter?: number | undefined
  cause?: unknown
}

/** What the user needs to answer. */
export interface OpenApproval {
  approvalUri: string
  userCode: string
  expiresIn: number
  interval: number
}

/**
 * Why `resource.approve` did not let a call pass: the user has not signed (403), the key was used for another action (409), the user was asked
 * too often (429), or the authorization server cannot be asked (503). `answerRefusals` of each adapter sends `problem` to the caller.
 *
 * `reason` and `cause` are for the API's log. No member contains the token.
 */
export class ApprovalError extends ResourceError {
  override readonly name = 'ApprovalError'
  /** Only with the code `approval_required`. */
  readonly state: ApprovalState | undefined
  /** The page on which the user signs; only with the state `waiting`. */
  readonly approvalUri: string | undefined
  /** The letters that the user compares with those on the page; only with the state `waiting`. */
  readonly userCode: string | undefined
  /** Seconds in which the user can still sign; only with the state `waiting`. */
  readonly expiresIn: number | undefined
  readonly #code: Code

  constructor({ state, open, ...refusal }: ApprovalRefusal) {
    super(refusal)
    this.#code = refusal.error
    this.state = state
    this.approvalUri = open?.approvalUri
    this.userCode = open?.userCode
    this.expiresIn = open?.expiresIn
  }

  /** The body of the response. */
  get problem(): ApprovalProblem {
    const { status, description: detail, state, approvalUri, userCode, expiresIn, retryAfter } = this
    const problem: ApprovalProblem = { type: `urn:grantor:problem:${this.#code}`, title: TITLES[this.#code], status, detail }
    if (state !== undefined) problem.state = state
    if (approvalUri !== undefined) problem.approval_uri = approvalUri
    if (userCode !== undefined) problem.user_code = userCode
    if (expiresIn !== undefined) problem.expires_in = expiresIn
    if (state !== undefined && retryAfter !== undefined) problem.interval = retryAfter
    return problem
  }
}

export function isApprovalState(state: unknown): state is ApprovalState {
  return typeof state === 'string' && Object.hasOwn(DETAILS, state)
}

export const refuseApproval = {
  notSigned: (state: ApprovalState, open: OpenApproval) =>
    new ApprovalError({
      status: 403,
      error: 'approval_required',
      description: DETAILS[state],
      reason: `approval_${state}`,
      state,
      ...(state === 'waiting' ? { open, retryAfter: open.interval } : {}),
    }),

  // 409 and not 500: many APIs take the key from the call, such as the number of an order, and the caller can choose another.
  keyUsed: () =>
    new ApprovalError({
      status: 409,
      error: 'approval_key_used',
      description: 'The user was already asked about another action with this key. Choose another key.',
      reason: 'approval_key_used',
    }),

  declinedForGood: () =>
    new ApprovalError({
      status: 403,
      error: 'approvals_declined',
      description: 'The user does not want to be asked to sign actions of this app.',
      reason: 'approvals_declined',
    }),

  tooMany: (retryAfter = 60) =>
    new ApprovalError({
      status: 429,
      error: 'too_many_approvals',
      description: 'Let the user answer the open questions first, or try again later.',
      reason: 'too_many_approvals',
      retryAfter,
    }),

  /** The same refusal about an approval instead of a token. */
  unavailable: ({ reason, retryAfter, cause }: ResourceError) =>
    new ApprovalError({
      status: 503,
      error: 'temporarily_unavailable',
      description: 'It is not known whether the user signed this action. Try again shortly.',
      reason,
      retryAfter,
      cause,
    }),
}
