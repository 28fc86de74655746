/** Form posts from elsewhere are refused: a foreign page must not be able to press our buttons for the person. */
import type { FastifyRequest } from 'fastify'

export class ForeignOrigin extends Error {
  override readonly name = 'ForeignOrigin'
}

/** Throws `ForeignOrigin` for a foreign or `null` Origin. Absent is allowed: browsers send it with every post. */
export function requireOwnOrigin(request: FastifyRequest, ownOrigin: string): void {
  const { origin } = request.headers
  if (origin !== undefined && origin !== ownOrigin) throw new ForeignOrigin()
}
