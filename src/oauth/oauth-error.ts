/**
 * A refusal in the protocol's own words (RFC 6749 §4.1.2.1, §5.2; RFC 8707 §2).
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

  constructor(error: OAuthErrorCode, reason: string, description: string, retryAfter?: number) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
    this.description = description
    this.retryAfter = retryAfter
  }

  /** The HTTP status of this error at an endpoint that answers in JSON. */
  get status(): number {
    return STATUS[this.error] ?? 400
  }

  /** The JSON body (RFC 6749 §5.2). */
  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.description }
  }
}

const STATUS: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
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
  new OAuthError('unsupported_grant_type', 'grant_type_unknown', 'Use grant_type authorization_code or refresh_token.')

export const unsupportedResponseType = (): OAuthError =>
  new OAuthError('unsupported_response_type', 'response_type_unknown', 'The only response_type here is code.')

export const invalidScope = (reason: string): OAuthError =>
  new OAuthError('invalid_scope', reason, 'A scope asked for is unknown, malformed, or more than the client may have.')

export const invalidTarget = (reason: string): OAuthError =>
  new OAuthError('invalid_target', reason, 'A resource asked for is unknown, malformed, or more than the client may have.')

export const accessDenied = (reason: string): OAuthError => new OAuthError('access_denied', reason, 'The user declined.')

export const loginRequired = (): OAuthError => new OAuthError('login_required', 'no_session', 'The user must sign in.')

export const consentRequired = (): OAuthError => new OAuthError('consent_required', 'not_confirmed', 'The user must confirm.')

export const tooManyFailures = (retryAfter: number): OAuthError =>
  new OAuthError('too_many_failures', 'failure_limit', 'Too many failed attempts. Wait and try again.', retryAfter)

export const temporarilyUnavailable = (reason: string): OAuthError =>
  new OAuthError('temporarily_unavailable', reason, 'The service cannot reach its store right now. Try again in a moment.', 5)

export const walletUnavailable = (reason: string): OAuthError =>
  new OAuthError('temporarily_unavailable', reason, 'The wallet could not be checked right now. Try again in a moment.', 5)

export const serverError = (requestId: string): OAuthError =>
  new OAuthError('server_error', 'defect', `Something went wrong on our side. Quote request ${requestId}.`)
