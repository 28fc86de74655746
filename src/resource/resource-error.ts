import { DPOP_ALGORITHMS } from '../oauth/dpop.ts'
import type { ProofReason, ResourceReason, ResourceReasonOf } from './resource-reasons.ts'

/** The codes of RFC 6750 §3.1 and RFC 9449 §7.1, and one more for "could not check". */
type ErrorCode = 'invalid_request' | 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope' | 'temporarily_unavailable'

interface Refusal {
  status: 400 | 401 | 403 | 503
  error: ErrorCode | undefined
  description: string
  reason: ResourceReason
  /** the scopes that the call needs, if a scope is missing */
  scope?: string | undefined
  wwwAuthenticate?: string
  retryAfter?: number
  cause?: unknown
}

/**
 * Why a call was refused, with the status and headers of the response (RFC 6750 §3, RFC 9068 §4).
 *
 * Everything except `reason` and `cause` may be sent to the caller; these two are for the API's log. No member contains
 * the token.
 */
export class ResourceError extends Error {
  override readonly name = 'ResourceError'
  /** 400, 401, 403, or 503 if the token could not be checked. */
  readonly status: 400 | 401 | 403 | 503
  /** The OAuth error code; `undefined` if the call had no credentials (RFC 6750 §3.1). */
  readonly error: ErrorCode | undefined
  /** One sentence in plain words, fixed for each code. */
  readonly description: string
  /** For the log: the exact fault, for example `expired` or `claim_aud`. */
  readonly reason: ResourceReason
  /** The value of the header `WWW-Authenticate`; `undefined` with 503. */
  readonly wwwAuthenticate: string | undefined
  /** The scopes the call needs, separated by spaces; only with `insufficient_scope`. */
  readonly scope: string | undefined
  /** Seconds until the next attempt; only with 503. */
  readonly retryAfter: number | undefined

  constructor(refusal: Refusal) {
    super(refusal.description, refusal.cause === undefined ? undefined : { cause: refusal.cause })
    this.status = refusal.status
    this.error = refusal.error
    this.description = refusal.description
    this.reason = refusal.reason
    this.wwwAuthenticate = refusal.wwwAuthenticate
    this.scope = refusal.scope
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

export type Refusals = ReturnType<typeof createRefusals>

/** The schemes in which an API accepts a token. */
export type Takes = { bearer: boolean; dpop: boolean }

type Challenge = (parameters?: Record<string, string>, scheme?: 'DPoP') => string

/** Returns a function that writes the value of `WWW-Authenticate` (RFC 6750 §3, RFC 9449 §7.1). */
function challengesOf(realm: string, takes: Takes): Challenge {
  const write = (scheme: 'Bearer' | 'DPoP', parameters: Record<string, string>) =>
    `${scheme} ${Object.entries(parameters)
      .map(([name, value]) => `${name}="${quotable(value)}"`)
      .join(', ')}`
  const algs = DPOP_ALGORITHMS.join(' ')
  return (parameters: Record<string, string> = {}, scheme?: 'DPoP') => {
    if (scheme === 'DPoP' || !takes.bearer) return write('DPoP', { realm, ...parameters, algs })
    const bearer = write('Bearer', { realm, ...parameters })
    // RFC 9449 §7.2: a caller without a token, or with a bound token and no proof, receives both challenges.
    return takes.dpop && parameters.scope === undefined ? `${bearer}, ${write('DPoP', { algs })}` : bearer
  }
}

function withDpopChallenge(challenge: Challenge, refusal: ResourceError): ResourceError {
  const { status, error, description, reason, scope, retryAfter, cause } = refusal
  const parameters = { error_description: description, ...(scope === undefined ? {} : { scope }) }
  return new ResourceError({
    status,
    error,
    description,
    reason,
    scope,
    cause,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(error === undefined || status === 503 ? {} : { wwwAuthenticate: challenge({ error, ...parameters }, 'DPoP') }),
  })
}

/** One function per response of RFC 6750 §3.1 and RFC 9449 §7.1; `realm` names the API in each challenge. */
export function createRefusals(realm: string, takes: Takes) {
  const challenge = challengesOf(realm, takes)

  const refuse = (status: 400 | 401 | 403, error: ErrorCode, description: string, reason: ResourceReason, scope?: string) =>
    new ResourceError({
      status,
      error,
      description,
      reason,
      scope,
      wwwAuthenticate: challenge({ error, error_description: description, ...(scope === undefined ? {} : { scope }) }),
    })

  return {
    // RFC 6750 §3.1: a request without credentials "SHOULD NOT include an error code or other error information"
    noCredentials: () =>
      new ResourceError({
        status: 401,
        error: undefined,
        description: 'This call needs an access token.',
        reason: 'no_credentials',
        wwwAuthenticate: challenge(),
      }),

    invalidRequest: (reason: ResourceReasonOf<'invalid_request'>) =>
      refuse(400, 'invalid_request', 'Send the access token once, in one well-formed header.', reason),

    // One wording for all faults: the log names the failed check, and an attacker must not learn it.
    invalidToken: (reason: ResourceReasonOf<'invalid_token'>) =>
      refuse(401, 'invalid_token', 'The access token is expired, revoked, malformed or not meant for this API.', reason),

    invalidProof: (reason: ProofReason) =>
      refuse(401, 'invalid_dpop_proof', 'The DPoP proof is missing, malformed, too old, used, or not for this call.', reason),

    /** The same refusal for a token with the scheme DPoP. */
    toDpop: (error: ResourceError) => withDpopChallenge(challenge, error),

    insufficientScope: (scopes: readonly string[]) =>
      refuse(403, 'insufficient_scope', 'The access token does not allow this call.', 'scope_missing', scopes.join(' ')),

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
}

/** Only characters that a quoted-string of RFC 6750 §3 may contain, so that a value cannot break out of the header. */
function quotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '')
}
