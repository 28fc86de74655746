import { type LoginErrorCode, type LoginReasonOf, loginErrors } from '../../protocol/oauth/reasons.ts'

/** An error code with one of its reasons. */
type Arguments = { [Code in LoginErrorCode]: [error: Code, reason: LoginReasonOf<Code>] }[LoginErrorCode]

/** An error for the login server. The login server gets the code, and the log gets the reason. Neither contains why a signature failed. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
  readonly error: LoginErrorCode
  readonly reason: Arguments[1]

  constructor(...[error, reason]: Arguments) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
  }

  get status(): number {
    return loginErrors[this.error].status
  }

  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: loginErrors[this.error].description }
  }
}
