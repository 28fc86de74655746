/**
 * A request that is refused, with everything that the login page's script or the page of the refusal needs.
 *
 * Codes and statuses of the auth service are passed on unchanged; the codes of this server are below.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly error: string
  readonly description: string
  /** Seconds, if the response has a `Retry-After` header. */
  readonly retryAfter: number | undefined

  constructor(status: number, error: string, description: string, retryAfter?: number) {
    super(`${status} ${error}`)
    this.status = status
    this.error = error
    this.description = description
    this.retryAfter = retryAfter
  }
}

export const invalidRequest = (description: string): Refusal => new Refusal(400, 'invalid_request', description)

export const foreignOrigin = (): Refusal =>
  new Refusal(403, 'foreign_origin', 'This request came from another site. Nothing was done.')

export const notFound = (): Refusal => new Refusal(404, 'not_found', 'There is nothing at this address.')

export const methodNotAllowed = (): Refusal => new Refusal(405, 'method_not_allowed', 'Use a method that Allow names.')

export const tooLarge = (): Refusal =>
  new Refusal(413, 'too_large', 'At most 16384 bytes are read here, and 8192 characters of a signature.')

export const unsupportedType = (): Refusal =>
  new Refusal(415, 'unsupported_media_type', 'Send application/json or application/x-www-form-urlencoded.')

export const unavailable = (): Refusal =>
  new Refusal(503, 'temporarily_unavailable', 'The sign-in service does not answer right now. Try again in a moment.', 5)
