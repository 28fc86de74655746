/**
 * - `popup_blocked`: the browser opened no window. Call the function in the handler of a click, or use `signInWithRedirect`.
 * - `cancelled`: the app cancelled the sign-in, or began another one.
 * - `timed_out`: no response came in time.
 * - `response_invalid`: the response, or the ID token, is not the one for this request.
 * - `unavailable`: the service did not respond, or responded with another error.
 * - `refused`: the service refused the request. `error` is the code of OAuth, such as `access_denied`.
 */
export type SignInErrorReason = 'popup_blocked' | 'cancelled' | 'timed_out' | 'response_invalid' | 'unavailable' | 'refused'

/** Why a sign-in failed. The message is for developers. */
export class SignInError extends Error {
  readonly reason: SignInErrorReason
  /** the error code of OAuth, if the service refused; otherwise null */
  readonly error: string | null

  constructor(reason: SignInErrorReason, message: string, options: { error?: string; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {})
    this.name = 'SignInError'
    this.reason = reason
    this.error = options.error ?? null
  }
}
