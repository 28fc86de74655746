/** Refuses form posts from other origins: a page of another origin must not be able to submit a user's decision. */
import type { FastifyRequest } from 'fastify'

export class ForeignOrigin extends Error {
  override readonly name = 'ForeignOrigin'
}

/**
 * Throws `ForeignOrigin` for another or a `null` Origin. A missing Origin is allowed, because browsers send Origin with
 * every post.
 */
export function requireOwnOrigin(request: FastifyRequest, ownOrigin: string): void {
  const { origin } = request.headers
  if (origin !== undefined && origin !== ownOrigin) throw new ForeignOrigin()
}
