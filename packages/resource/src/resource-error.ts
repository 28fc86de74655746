import type { ProofReason, ResourceReason, ResourceReasonOf } from './resource-reasons.ts'

/** The codes of RFC 6750 §3.1, RFC 9449 §7.1 and RFC 9470 §3, one for a token that could not be checked, those of an `ApprovalError`, and those of a draw. */
type ErrorCode =
  | 'invalid_request'
  | 'invalid_token'
  | 'invalid_dpop_proof'
  | 'insufficient_scope'
  | 'insufficient_user_authentication'
  | 'temporarily_unavailable'
  | 'approval_required'
  | 'approval_key_used'
  | 'approvals_declined'
  | 'too_many_approvals'
  | 'draw_key_used'
  | 'server_error'

type Status = 400 | 401 | 403 | 409 | 429 | 500 | 503

export interface Refusal {
  status: Status
  error: ErrorCode | undefined
  description: string
  reason: ResourceReason
  scope?: string | undefined
  maxAge?: number | undefined
  acrValues?: string | undefined
  wwwAuthenticate?: string | undefined
  retryAfter?: number | undefined
  cause?: unknown
}

/**
 * Why a call was refused, with the status and headers of the response (RFC 6750 §3, RFC 9068 §4).
 *
 * Everything except `reason` and `cause` may be sent to the caller; these two are for the API's log. No member contains
 * the token.
 */
export class ResourceError extends Error {
  override readonly name: string = 'ResourceError'
  /**
   * 400, 401, 403, or 503 if the token could not be checked. An `ApprovalError` can have 409 or 429. `draw` and `giveBack` can have 409, and 500 for a
   * fault of the API.
   */
  readonly status: Status
  /** The OAuth error code; `undefined` if the call had no credentials (RFC 6750 §3.1), or came from a foreign page. */
  readonly error: ErrorCode | undefined
  /** One sentence in plain words, fixed for each code, or for each `reason` of a limit that is used up. */
  readonly description: string
  /** For the log: the exact fault, for example `expired` or `claim_aud`. */
  readonly reason: ResourceReason
  /** The value of the header `WWW-Authenticate`; `undefined` with 409, 500 and 503, for a call from a foreign page, and in an `ApprovalError`. */
  readonly wwwAuthenticate: string | undefined
  /** The scopes the call needs, separated by spaces (RFC 6750 §3); `undefined` without scopes, and with 400, 409, 500 and 503. */
  readonly scope: string | undefined
  /** The greatest age of the sign-in in seconds (RFC 9470 §3); only with `insufficient_user_authentication`. */
  readonly maxAge: number | undefined
  /** The accepted values of `acr`, separated by spaces (RFC 9470 §3); only with `insufficient_user_authentication`. */
  readonly acrValues: string | undefined
  /** Seconds until the next attempt; only with 429 and 503. */
  readonly retryAfter: number | undefined

  constructor(refusal: Refusal) {
    super(refusal.description, refusal.cause === undefined ? undefined : { cause: refusal.cause })
    this.status = refusal.status
    this.error = refusal.error
    this.description = refusal.description
    this.reason = refusal.reason
    this.wwwAuthenticate = refusal.wwwAuthenticate
    this.scope = refusal.scope
    this.maxAge = refusal.maxAge
    this.acrValues = refusal.acrValues
    this.retryAfter = refusal.retryAfter
  }

  /** The headers of the response: `WWW-Authenticate` or `Retry-After`, and `Cache-Control: no-store`. */
  get headers(): Record<string, string> {
    return {
      'Cache-Control': 'no-store',
      ...(this.wwwAuthenticate === undefined ? {} : { 'WWW-Authenticate': this.wwwAuthenticate }),
      ...(this.retryAfter === undefined ? {} : { 'Retry-After': String(this.retryAfter) }),
    }
  }
}

/**
 * One function per response of RFC 6750 §3.1, RFC 9449 §7.1 and RFC 9470 §3. The errors have no challenge yet: the
 * challenge depends on the call, and `createChallenges` adds it.
 */
export const refuse = {
  // RFC 6750 §3.1: a request without credentials "SHOULD NOT include an error code or other error information"
  noCredentials: () =>
    new ResourceError({
      status: 401,
      error: undefined,
      description: 'This call needs an access token.',
      reason: 'no_credentials',
    }),

  invalidRequest: (reason: ResourceReasonOf<'invalid_request'>) =>
    new ResourceError({
      status: 400,
      error: 'invalid_request',
      description: 'Send the access token once, in one well-formed header.',
      reason,
    }),

  // One wording for all faults: only the log names the failed check, because the name would help an attacker.
  invalidToken: (reason: ResourceReasonOf<'invalid_token'>) =>
    new ResourceError({
      status: 401,
      error: 'invalid_token',
      description: 'The access token is expired, revoked, malformed or not meant for this API.',
      reason,
    }),

  invalidProof: (reason: ProofReason) =>
    new ResourceError({
      status: 401,
      error: 'invalid_dpop_proof',
      description: 'The DPoP proof is missing, malformed, too old, used, or not for this call.',
      reason,
    }),

  insufficientScope: () =>
    new ResourceError({
      status: 403,
      error: 'insufficient_scope',
      description: 'The access token does not allow this call.',
      reason: 'scope_missing',
    }),

  // No challenge: another token would be refused too.
  foreignCaller: (reason: 'foreign_host' | 'foreign_origin') =>
    new ResourceError({
      status: 403,
      error: undefined,
      description: 'This server does not accept calls from this page or under this host name.',
      reason,
    }),

  // RFC 9470 §3: 401, because another sign-in can make the call possible
  insufficientAuthentication: (
    reason: ResourceReasonOf<'insufficient_user_authentication'>,
    wanted: { maxAge: number | undefined; acrValues: string | undefined },
  ) =>
    new ResourceError({
      status: 401,
      error: 'insufficient_user_authentication',
      description: 'This call needs a more recent or a different sign-in of the user.',
      reason,
      ...wanted,
    }),

  /** The authorization server gave no usable response, so the token is neither accepted nor reported as bad. */
  unavailable: (
    reason: ResourceReasonOf<'temporarily_unavailable'>,
    { retryAfter = 5, cause }: { retryAfter?: number; cause?: unknown } = {},
  ) =>
    new ResourceError({
      status: 503,
      error: 'temporarily_unavailable',
      description: 'The access token cannot be checked at the moment. Try again shortly.',
      reason,
      retryAfter,
      cause,
    }),
}
