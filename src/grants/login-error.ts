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
  | 'unsupported_media_type'

const STATUS: Record<LoginErrorCode, number> = {
  invalid_request: 400,
  not_proven: 401,
  chain_not_allowed: 403,
  address_not_allowed: 403,
  client_not_allowed: 403,
  vouching_off: 403,
  already_used: 409,
  expired: 410,
  too_large: 413,
  unsupported_media_type: 415,
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
  unsupported_media_type: 'The body must be application/json.',
}

export class LoginError extends Error {
  override readonly name = 'LoginError'
  readonly error: LoginErrorCode
  readonly reason: string

  constructor(error: LoginErrorCode, reason: string) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
  }

  get status(): number {
    return STATUS[this.error]
  }

  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: DESCRIPTION[this.error] }
  }
}
