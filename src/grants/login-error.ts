/** A refusal to the login server: a code it can act on, and the reason for our log. Never why a signature failed. */
export type LoginErrorCode =
  | 'invalid_request'
  | 'not_proven'
  | 'chain_not_allowed'
  | 'address_not_allowed'
  | 'client_not_allowed'
  | 'vouching_off'
  | 'already_used'
  | 'expired'
  | 'too_large'
  | 'continued_elsewhere'
  | 'consent_needs_signature'
  | 'unsupported_media_type'
  | 'too_many_failures'
  | 'temporarily_unavailable'

const STATUS: Record<LoginErrorCode, number> = {
  invalid_request: 400,
  not_proven: 401,
  chain_not_allowed: 403,
  address_not_allowed: 403,
  client_not_allowed: 403,
  vouching_off: 403,
  consent_needs_signature: 403,
  already_used: 409,
  continued_elsewhere: 409,
  expired: 410,
  too_large: 413,
  unsupported_media_type: 415,
  too_many_failures: 429,
  temporarily_unavailable: 503,
}

const DESCRIPTION: Record<LoginErrorCode, string> = {
  invalid_request: 'The request is malformed.',
  not_proven: 'The signature does not prove this address.',
  chain_not_allowed: 'Sign-in is not offered on this chain.',
  address_not_allowed: 'This address cannot sign in.',
  client_not_allowed: 'The app may not ask for sign-in any more.',
  vouching_off: 'A sign-in needs a signature.',
  already_used: 'This sign-in was used already.',
  expired: 'This sign-in took too long. Start again at the app.',
  too_large: 'The request is too large.',
  continued_elsewhere: 'This sign-in was continued on another device.',
  consent_needs_signature: "Only the wallet's own signature will do here.",
  unsupported_media_type: 'The body must be application/json.',
  too_many_failures: 'This address was checked too often. Wait and try again.',
  temporarily_unavailable: 'The wallet could not be checked right now. Try again in a moment.',
}

export class LoginError extends Error {
  override readonly name = 'LoginError'
  readonly error: LoginErrorCode
  readonly reason: string
  /** seconds, where the answer carries `Retry-After` */
  readonly retryAfter: number | undefined

  constructor(error: LoginErrorCode, reason: string, retryAfter?: number) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
    this.retryAfter = retryAfter
  }

  get status(): number {
    return STATUS[this.error]
  }

  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: DESCRIPTION[this.error] }
  }
}
