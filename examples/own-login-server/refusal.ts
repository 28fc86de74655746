/** Something that is not done, as the page tells it: the auth service's own refusal, passed on as it came, or one of this server's. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly code: string
  readonly description: string
  /** Seconds, as the header writes them. */
  readonly retryAfter: string | null

  constructor(status: number, code: string, description: string, retryAfter: string | null = null, cause?: unknown) {
    super(code, { cause })
    this.status = status
    this.code = code
    this.description = description
    this.retryAfter = retryAfter
  }
}
