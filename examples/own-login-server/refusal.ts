/** A refused request: the auth service's refusal, forwarded unchanged, or one of this server. The user sees `description`. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly code: string
  readonly description: string
  /** The value of the header Retry-After, in seconds; null for none. */
  readonly retryAfter: string | null

  constructor(status: number, code: string, description: string, retryAfter: string | null = null, cause?: unknown) {
    super(code, { cause })
    this.status = status
    this.code = code
    this.description = description
    this.retryAfter = retryAfter
  }
}
