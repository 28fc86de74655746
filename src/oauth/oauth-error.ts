import type { TokenScheme } from './bearer-token.ts'

/**
 * A refusal in the protocol's own words (RFC 6749 §4.1.2.1, §5.2; RFC 6750 §3; RFC 8707 §2; OpenID Connect Core §3.1.3.4).
 *
 * `error` and `description` are for the client and say no more than the RFC lets them; `reason` is for the audit
 * log and says precisely what was wrong.
 */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'account_selection_required'
  | 'invalid_request_object'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'
  | 'invalid_dpop_proof'
  | 'use_dpop_nonce'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'temporarily_unavailable'
  | 'server_error'
  | 'too_many_failures'

export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly error: OAuthErrorCode
  /** for the audit log only */
  readonly reason: string
  /** RFC 6749 §5.2: characters outside %x20-21 / %x23-5B / %x5D-7E are not allowed here */
  readonly description: string
  /** seconds, where the answer carries `Retry-After` */
  readonly retryAfter: number | undefined
  /** the client that was refused, for the audit log only */
  clientId: string | undefined
  /** how the access token came that this is about; undefined where it is about none (RFC 6750 §3, RFC 9449 §7.1) */
  tokenScheme: TokenScheme | undefined

  constructor(error: OAuthErrorCode, reason: string, description: string, retryAfter?: number) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
    this.description = description
    this.retryAfter = retryAfter
  }

  /** The HTTP status of this error at an endpoint that answers in JSON. */
  get status(): number {
    const ofToken = this.tokenScheme !== undefined && (this.error === 'invalid_dpop_proof' || this.error === 'use_dpop_nonce')
    return ofToken ? 401 : (STATUS[this.error] ?? 400)
  }

  /** The JSON body (RFC 6749 §5.2). */
  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.description }
  }
}

const STATUS: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
  // RFC 6750 §3.1
  invalid_token: 401,
  insufficient_scope: 403,
  too_many_failures: 429,
  server_error: 500,
  temporarily_unavailable: 503,
}

export const invalidRequest = (reason: string, description: string): OAuthError =>
  new OAuthError('invalid_request', reason, description)

/** One wording for an unknown client and a wrong secret: the answer must not tell which it was. */
export const invalidClient = (reason: string): OAuthError =>
  new OAuthError('invalid_client', reason, 'Client authentication failed.')

/** One wording for every way a code or a refresh token can be bad. */
export const invalidGrant = (reason: string): OAuthError =>
  new OAuthError(
    'invalid_grant',
    reason,
    'The code or token is invalid, expired, used, revoked, or was issued to another client.',
  )

export const unauthorizedClient = (reason: string): OAuthError =>
  new OAuthError('unauthorized_client', reason, 'The client may not use this grant type.')

export const unsupportedGrantType = (): OAuthError =>
  new OAuthError(
    'unsupported_grant_type',
    'grant_type_unknown',
    'Use grant_type authorization_code, refresh_token or client_credentials.',
  )

export const unsupportedResponseType = (): OAuthError =>
  new OAuthError('unsupported_response_type', 'response_type_unknown', 'The only response_type here is code.')

export const invalidScope = (reason: string): OAuthError =>
  new OAuthError('invalid_scope', reason, 'A scope asked for is unknown, malformed, or more than the client may have.')

export const invalidTarget = (reason: string): OAuthError =>
  new OAuthError('invalid_target', reason, 'A resource asked for is unknown, malformed, or more than the client may have.')

export const accessDenied = (reason: string): OAuthError => new OAuthError('access_denied', reason, 'The user declined.')

export const loginRequired = (reason = 'no_session'): OAuthError =>
  new OAuthError('login_required', reason, 'The user must sign in.')

export const consentRequired = (): OAuthError => new OAuthError('consent_required', 'not_confirmed', 'The user must confirm.')

/** RFC 9449 §5 */
export const invalidDpopProof = (reason: string): OAuthError =>
  new OAuthError(
    'invalid_dpop_proof',
    reason,
    reason === 'proof_missing'
      ? 'This needs a DPoP proof.'
      : 'The DPoP proof is malformed, too old, used, or not for this request.',
  )

/** RFC 9449 §8 */
export const wantsDpopNonce = (): OAuthError =>
  new OAuthError(
    'use_dpop_nonce',
    'dpop_nonce_missing_or_old',
    'Make the DPoP proof again with the nonce in the header DPoP-Nonce.',
  )

/** One wording for every way an access token can be bad (RFC 6750 §3.1). */
export const invalidToken = (reason: string): OAuthError =>
  new OAuthError('invalid_token', reason, 'The access token is invalid, expired or revoked.')

export const insufficientScope = (): OAuthError =>
  new OAuthError('insufficient_scope', 'openid_not_granted', 'This needs an access token with scope openid.')

/** OpenID Connect Core §3.1.2.6 */
export const accountSelectionRequired = (): OAuthError =>
  new OAuthError('account_selection_required', 'session_of_another_wallet', 'The user must choose an account.')

/** One wording for every way a request object can be bad (RFC 9101 §7). */
export const invalidRequestObject = (reason: string): OAuthError =>
  new OAuthError(
    'invalid_request_object',
    reason,
    'The request object is malformed, out of date, not for this server, or not signed with a key of this client.',
  )

export const requestNotSupported = (): OAuthError =>
  new OAuthError('request_not_supported', 'client_without_keys', 'This client has registered no keys for request objects.')

export const requestUriNotSupported = (): OAuthError =>
  new OAuthError('request_uri_not_supported', 'request_uri_sent', 'The only request_uri here is that of a pushed request.')

export const registrationNotSupported = (): OAuthError =>
  new OAuthError('registration_not_supported', 'registration_sent', 'Clients register beforehand.')

export const tooManyFailures = (retryAfter: number): OAuthError =>
  new OAuthError('too_many_failures', 'failure_limit', 'Too many failed attempts. Wait and try again.', retryAfter)

export const tooManySignIns = (retryAfter: number): OAuthError =>
  new OAuthError('too_many_failures', 'sign_in_limit', 'Too many sign-ins. Wait and try again.', retryAfter)

/** RFC 9126 §2.3: "the request exceeds a rate limit". */
export const tooManyPushed = (retryAfter: number): OAuthError =>
  new OAuthError('too_many_failures', 'pushed_too_often', 'Too many requests were pushed. Wait and try again.', retryAfter)

export const temporarilyUnavailable = (reason: string): OAuthError =>
  new OAuthError('temporarily_unavailable', reason, 'The service cannot reach its store right now. Try again in a moment.', 5)

export const walletUnavailable = (reason: string): OAuthError =>
  new OAuthError('temporarily_unavailable', reason, 'The wallet could not be checked right now. Try again in a moment.', 5)

/** For two minutes at most after the algorithm was set anew: then the next key signs. */
export const signingUnavailable = (reason: string): OAuthError =>
  new OAuthError(
    'temporarily_unavailable',
    reason,
    'The service cannot sign for this client right now. Try again in a moment.',
    60,
  )

export const serverError = (requestId: string): OAuthError =>
  new OAuthError('server_error', 'defect', `Something went wrong on our side. Quote request ${requestId}.`)
