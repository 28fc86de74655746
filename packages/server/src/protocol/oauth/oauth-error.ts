import type { TokenScheme } from './bearer-token.ts'
import { type OAuthErrorCode, oauthErrors, type ReasonOf } from './reasons.ts'

export type { OAuthErrorCode } from './reasons.ts'

/** An error with one of its own reasons. Everything else has a default in the table of reasons. */
type OAuthRefusal = {
  [Code in OAuthErrorCode]: {
    error: Code
    reason: ReasonOf<Code>
    /** RFC 6749 §5.2: characters outside %x20-21 / %x23-5B / %x5D-7E are not allowed here */
    description?: string
    /** 429 if a limit is exceeded */
    status?: 429
    /** seconds, if the response has a `Retry-After` header */
    retryAfter?: number
    /** for the log: what the reason alone does not show, such as which host did not respond */
    detail?: string
    /** further members of the JSON body */
    members?: Readonly<Record<string, string>>
  }
}[OAuthErrorCode]

/**
 * A refusal with the protocol's error codes (RFC 6749 §4.1.2.1, §5.2; RFC 6750 §3; RFC 8707 §2; OpenID Connect
 * Core §3.1.3.4).
 *
 * `error` and `description` are for the client and reveal only what the RFC allows. `reason` is for the audit log and
 * names the exact fault.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly error: OAuthErrorCode
  /** for the audit log only */
  readonly reason: OAuthRefusal['reason']
  readonly description: string
  readonly retryAfter: number | undefined
  /** for the log only: what the reason alone does not show */
  readonly detail: string | undefined
  /** the client that was refused, for the audit log only */
  clientId: string | undefined
  /**
   * the scheme with which the access token was presented; undefined if the error is not about an access token (RFC 6750
   * §3, RFC 9449 §7.1)
   */
  tokenScheme: TokenScheme | undefined
  readonly #limit: 429 | undefined
  readonly #members: Readonly<Record<string, string>>

  constructor({
    error,
    reason,
    description = oauthErrors[error].description,
    status,
    retryAfter,
    detail,
    members = {},
  }: OAuthRefusal) {
    // Any caller can cause refusals, `reason` names the place, and to record the stack is a tenth of the processor time of a refusal (decision 0012).
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(`${error}: ${reason}${detail === undefined ? '' : `: ${detail}`}`)
    Error.stackTraceLimit = stackTraceLimit
    this.error = error
    this.reason = reason
    this.description = description
    this.retryAfter = retryAfter
    this.detail = detail
    this.#limit = status
    this.#members = members
  }

  /** The HTTP status of this error at an endpoint that responds in JSON. */
  get status(): number {
    const ofToken = this.tokenScheme !== undefined && (this.error === 'invalid_dpop_proof' || this.error === 'use_dpop_nonce')
    return ofToken ? 401 : (this.#limit ?? oauthErrors[this.error].status)
  }

  /** The JSON body (RFC 6749 §5.2). */
  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.description, ...this.#members }
  }
}

export const invalidRequest = (reason: ReasonOf<'invalid_request'>, description: string): OAuthError =>
  new OAuthError({ error: 'invalid_request', reason, description })

/** One wording for an unknown client and a wrong secret: the response must not show which of them it was. */
export const invalidClient = (reason: ReasonOf<'invalid_client'>): OAuthError =>
  new OAuthError({ error: 'invalid_client', reason })

/** For a client that sent the right secret. The description shows the registered method, and nothing to a caller without the secret. */
export const wrongAuthMethod = (registered: string): OAuthError =>
  new OAuthError({
    error: 'invalid_client',
    reason: 'auth_method_not_registered',
    description: `Client authentication failed. This client is registered for ${registered}.`,
  })

/** One wording for every fault of a code or a refresh token. */
export const invalidGrant = (reason: ReasonOf<'invalid_grant'>): OAuthError => new OAuthError({ error: 'invalid_grant', reason })

export const unauthorizedClient = (reason: ReasonOf<'unauthorized_client'>): OAuthError =>
  new OAuthError({ error: 'unauthorized_client', reason })

export const notAResourceServer = (): OAuthError =>
  new OAuthError({
    error: 'unauthorized_client',
    reason: 'not_a_resource_server',
    description: 'The client is not the client of a resource server.',
  })

export const unsupportedGrantType = (): OAuthError =>
  new OAuthError({ error: 'unsupported_grant_type', reason: 'grant_type_unknown' })

export const unsupportedResponseType = (): OAuthError =>
  new OAuthError({ error: 'unsupported_response_type', reason: 'response_type_unknown' })

/** `refused`: the scopes that caused the refusal, for the log. */
export const invalidScope = (reason: ReasonOf<'invalid_scope'>, refused: readonly string[] = []): OAuthError =>
  new OAuthError({
    error: 'invalid_scope',
    reason,
    ...(reason === 'resource_missing' && { description: RESOURCE_MISSING }),
    ...(refused.length > 0 && { detail: `scope ${shortened(refused.join(' '))}` }),
  })

/** The caller chose the text, and each refusal is a line of the log. */
function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}

/** A scope consists of characters that RFC 6749 §3.3 and §5.2 allow. */
export const scopeOfNoResource = (scope: string): OAuthError =>
  new OAuthError({
    error: 'invalid_scope',
    reason: 'scope_of_no_resource',
    description: `No resource of this client has the scope ${scope}. The operator adds the resource to the client, or the scope to a resource.`,
  })

const RESOURCE_MISSING =
  'The request names no resource, and the default resource does not have the requested scopes. Send resource.'

export const invalidTarget = (reason: ReasonOf<'invalid_target'>): OAuthError =>
  new OAuthError({ error: 'invalid_target', reason })

/** RFC 6749 §4.1.2.1: "The resource owner or authorization server denied the request." */
export const accessDenied = (reason: ReasonOf<'access_denied'>): OAuthError =>
  new OAuthError({
    error: 'access_denied',
    reason,
    ...(reason === 'hook_refused' && { description: 'The operator does not allow this.' }),
  })

/** RFC 8628 §3.5 */
export const authorizationPending = (): OAuthError => new OAuthError({ error: 'authorization_pending', reason: 'answer_pending' })

export const slowDown = (): OAuthError => new OAuthError({ error: 'slow_down', reason: 'polled_too_soon' })

export const expiredToken = (): OAuthError => new OAuthError({ error: 'expired_token', reason: 'device_code_expired' })

export const loginRequired = (reason: ReasonOf<'login_required'> = 'no_session'): OAuthError =>
  new OAuthError({ error: 'login_required', reason })

export const interactionRequired = (): OAuthError => new OAuthError({ error: 'interaction_required', reason: 'another_port' })

export const consentRequired = (): OAuthError => new OAuthError({ error: 'consent_required', reason: 'not_confirmed' })

/** RFC 9449 §5 */
export const invalidDpopProof = (reason: ReasonOf<'invalid_dpop_proof'>): OAuthError =>
  new OAuthError({
    error: 'invalid_dpop_proof',
    reason,
    ...(reason === 'proof_missing' && { description: 'This needs a DPoP proof.' }),
  })

/** RFC 9449 §8 */
export const wantsDpopNonce = (): OAuthError => new OAuthError({ error: 'use_dpop_nonce', reason: 'dpop_nonce_missing_or_old' })

/** One wording for every fault of an access token (RFC 6750 §3.1). */
export const invalidToken = (reason: ReasonOf<'invalid_token'>): OAuthError => new OAuthError({ error: 'invalid_token', reason })

/** An API asked about a token that is not for it. The response does not show whether there is such a token. */
export const notYours = (): OAuthError => new OAuthError({ error: 'not_yours', reason: 'token_of_another_audience' })

/** One wording for every fault of the token that an API received. */
export const tokenInactive = (reason: ReasonOf<'token_inactive'>): OAuthError =>
  new OAuthError({ error: 'token_inactive', reason })

export const keyUsed = (): OAuthError => new OAuthError({ error: 'key_used', reason: 'approval_values_differ' })

export const approvalsDeclined = (): OAuthError =>
  new OAuthError({ error: 'approvals_declined', reason: 'approvals_declined_for_good' })

export const unknownApproval = (): OAuthError => new OAuthError({ error: 'unknown_approval', reason: 'approval_unknown' })

export const alreadyUsed = (): OAuthError => new OAuthError({ error: 'already_used', reason: 'approval_used_before' })

export const notApproved = (state: 'waiting' | 'declined' | 'expired' | 'ended'): OAuthError =>
  new OAuthError({ error: 'not_approved', reason: `approval_${state}`, members: { state } })

export const insufficientScope = (reason: ReasonOf<'insufficient_scope'>): OAuthError =>
  new OAuthError({ error: 'insufficient_scope', reason })

export const drawAmountMissing = (): OAuthError =>
  invalidRequest('draw_amount_missing', 'The limit has amounts, so amount is required.')

export const amountWithoutLimit = (): OAuthError =>
  invalidRequest('amount_without_limit', 'The limit has no amounts, so amount is not allowed.')

export const drawKeyUsed = (): OAuthError => new OAuthError({ error: 'key_used', reason: 'draw_amount_differs' })

export const noLimit = (): OAuthError => new OAuthError({ error: 'no_limit', reason: 'grant_without_limit' })

/** `scope`: the app asks for this scope again, and the wallet signs its limit. */
export const limitNotSigned = (scope: string): OAuthError =>
  new OAuthError({ error: 'limit_not_signed', reason: 'grant_before_limit', members: { scope } })

/** `scope`: the app asks for this scope again, and the wallet signs again. */
export const limitExceeded = (error: 'each_exceeded' | 'uses_exceeded' | 'amount_exceeded', scope: string): OAuthError =>
  new OAuthError({ error, reason: `limit_${error}`, members: { scope } } as ConstructorParameters<typeof OAuthError>[0])

export const unknownDraw = (): OAuthError => new OAuthError({ error: 'unknown_draw', reason: 'draw_unknown' })

export const aboveDraw = (): OAuthError => new OAuthError({ error: 'above_draw', reason: 'return_above_draw' })

export const alreadyReturned = (): OAuthError => new OAuthError({ error: 'already_returned', reason: 'draw_returned_otherwise' })

/** OpenID Connect Core §3.1.2.6 */
export const accountSelectionRequired = (): OAuthError =>
  new OAuthError({ error: 'account_selection_required', reason: 'session_of_another_wallet' })

/** One wording for every fault of a request object (RFC 9101 §7). */
export const invalidRequestObject = (reason: ReasonOf<'invalid_request_object'>): OAuthError =>
  new OAuthError({ error: 'invalid_request_object', reason })

export const requestNotSupported = (): OAuthError =>
  new OAuthError({ error: 'request_not_supported', reason: 'client_without_keys' })

export const requestUriNotSupported = (): OAuthError =>
  new OAuthError({ error: 'request_uri_not_supported', reason: 'request_uri_sent' })

export const registrationNotSupported = (): OAuthError =>
  new OAuthError({ error: 'registration_not_supported', reason: 'registration_sent' })

/**
 * 429 (RFC 6585 §4) with `temporarily_unavailable`, the only registered code for a server that cannot handle a request
 * at the moment. `slow_down` (RFC 8628 §3.5) would also mean that an authorization is still pending, and clients that
 * receive `slow_down` continue to poll.
 */
const overLimit = (reason: ReasonOf<'temporarily_unavailable'>, description: string, retryAfter: number): OAuthError =>
  new OAuthError({ error: 'temporarily_unavailable', reason, description, status: 429, retryAfter })

export const tooManyFailures = (retryAfter: number): OAuthError =>
  overLimit('failure_limit', 'Too many failed attempts. Wait and try again.', retryAfter)

export const tooManySignIns = (retryAfter: number): OAuthError =>
  overLimit('sign_in_limit', 'Too many sign-ins. Wait and try again.', retryAfter)

export const tooManyContractChecks = (retryAfter: number): OAuthError =>
  overLimit('contract_checks', 'Too many sign-ins. Wait and try again.', retryAfter)

export const tooManyCodes = (retryAfter: number): OAuthError =>
  overLimit('code_limit', 'Too many authorization codes. Wait and try again.', retryAfter)

/** RFC 9126 §2.3: "the request exceeds a rate limit". */
export const tooManyPushed = (retryAfter: number): OAuthError =>
  overLimit('pushed_too_often', 'Too many requests were pushed. Wait and try again.', retryAfter)

/** The limit that the operator registered for the client. */
export const tooManyOfClient = (retryAfter: number): OAuthError =>
  overLimit('client_limit', 'Too many requests of this client. Wait and try again.', retryAfter)

export const tooManyRevocations = (retryAfter: number): OAuthError =>
  overLimit('revoked_too_often', 'Too many tokens were revoked. Wait and try again.', retryAfter)

/** Bounds of the questions of one grant, or of those that wait for one wallet. */
export const tooManyApprovals = (
  bound: 'waiting' | 'hourly' | 'declined_twice' | 'wallet_waiting',
  retryAfter: number,
): OAuthError => new OAuthError({ error: 'too_many_approvals', reason: `approvals_${bound}`, retryAfter })

export const tooManyReaders = (retryAfter: number): OAuthError =>
  overLimit('feed_reads', 'Too many readers of the feed. Wait and try again.', retryAfter)

export const storeUnavailable = (): OAuthError =>
  new OAuthError({
    error: 'temporarily_unavailable',
    reason: 'store_unavailable',
    description: 'The service cannot reach its store right now. Try again in a moment.',
    retryAfter: 5,
  })

/** `detail` names the host that did not respond, for the log. */
export const walletUnavailable = (detail?: string): OAuthError =>
  new OAuthError({
    error: 'temporarily_unavailable',
    reason: 'contract_could_not_be_checked',
    description: 'The wallet could not be checked right now. Try again in a moment.',
    retryAfter: 5,
    ...(detail !== undefined && { detail }),
  })

export const invalidRedirectUri = (): OAuthError =>
  new OAuthError({ error: 'invalid_redirect_uri', reason: 'metadata_redirect_uris' })

export const invalidClientMetadata = (reason: ReasonOf<'invalid_client_metadata'>): OAuthError =>
  new OAuthError({ error: 'invalid_client_metadata', reason })

export const tooManyRegistrations = (retryAfter: number): OAuthError =>
  overLimit('registered_too_often', 'Too many registrations. Wait and try again.', retryAfter)

export const tooManyClientFetches = (retryAfter: number): OAuthError =>
  overLimit('client_fetches', 'Too many unknown clients. Wait and try again.', retryAfter)

/** RFC 9449 §11.1, RFC 7523 §3: each of them is stored until it expires. */
export const tooManyUses = (retryAfter: number): OAuthError =>
  overLimit('uses_too_often', 'Too many client assertions or DPoP proofs. Wait and try again.', retryAfter)

const clientAway = (
  reason: ReasonOf<'temporarily_unavailable'>,
  { description, retryAfter, detail }: { description: string; retryAfter: number; detail?: string | undefined },
): OAuthError =>
  new OAuthError({
    error: 'temporarily_unavailable',
    reason,
    description,
    retryAfter,
    ...(detail !== undefined && { detail }),
  })

/** Not 429: the caller itself need not have sent many requests. */
export const hostFetchedTooOften = (retryAfter: number): OAuthError =>
  clientAway('host_fetches', { description: 'The server of the client is called too often. Wait and try again.', retryAfter })

/** A call ends after three seconds. */
export const tooManyClientCalls = (): OAuthError =>
  clientAway('client_calls', { description: 'Too many clients are being looked up. Try again in a moment.', retryAfter: 3 })

/** `detail` names the document and the cause, for the log. */
export const clientUnavailable = (detail?: string): OAuthError =>
  clientAway('client_metadata_unavailable', {
    description: 'The metadata document of the client cannot be fetched right now. Try again in a moment.',
    retryAfter: 60,
    detail,
  })

/**
 * Not `invalid_client`, which would make the client give up its tokens. `retryAfter`: by then the keys may be fetched again. `detail` names
 * the host and the cause, for the log.
 */
export const clientKeysUnavailable = (detail?: string): OAuthError =>
  clientAway('client_keys_unavailable', {
    description: 'The keys of the client cannot be fetched right now. Try again in a moment.',
    retryAfter: 60,
    detail,
  })

/** One wording for every fault of the operator's hook. `detail` is for the log. */
export const hookUnavailable = (
  reason: Extract<ReasonOf<'temporarily_unavailable'>, `hook_${string}`>,
  { retryAfter, detail }: { retryAfter: number; detail?: string | undefined },
): OAuthError =>
  new OAuthError({
    error: 'temporarily_unavailable',
    reason,
    description: 'The service cannot decide about this request right now. Try again in a moment.',
    retryAfter,
    ...(detail !== undefined && { detail }),
  })

/** Lasts two minutes at most after the algorithm was changed: then the next key signs. */
export const signingUnavailable = (reason: ReasonOf<'temporarily_unavailable'>): OAuthError =>
  new OAuthError({
    error: 'temporarily_unavailable',
    reason,
    description: 'The service cannot sign for this client right now. Try again in a moment.',
    retryAfter: 60,
  })

export const serverError = (requestId: string): OAuthError =>
  new OAuthError({
    error: 'server_error',
    reason: 'defect',
    description: `Something went wrong on our side. Quote request ${requestId}.`,
  })
