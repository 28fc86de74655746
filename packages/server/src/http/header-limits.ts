/** Limits on the header fields that the routes read. Node refuses a head of more than 16 KiB before this check. */
import type { FastifyInstance } from 'fastify'

/** The longest value of each field, in characters. Fields of the same name count together. */
const AT_MOST: Readonly<Record<string, number>> = {
  accept: 1_000,
  authorization: 12_000,
  'content-type': 200,
  dpop: 12_000,
  origin: 500,
}
const LIMITED = Object.entries(AT_MOST)

class HeaderTooLong extends Error {
  override readonly name = 'HeaderTooLong'
  /** RFC 6585 §5 */
  readonly statusCode = 431
}

export function limitHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', ({ headers }, _reply, done) => {
    const isTooLong = LIMITED.some(([name, length]) => (headers[name]?.length ?? 0) > length)
    done(isTooLong ? new HeaderTooLong() : undefined)
  })
}
