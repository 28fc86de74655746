import type { FastifyInstance } from 'fastify'
import { errorPage, pageHeaders } from './pages.ts'
import { Refusal } from './refusal.ts'

/** What every request meets: the headers, a look at where a POST comes from, and words for whatever goes wrong. */
export function guard(app: FastifyInstance, ownOrigin: string): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(pageHeaders)
    // Another site's page must not sign, cancel or vouch in a person's name; only the browser writes Origin.
    if (request.method === 'POST' && request.headers.origin !== ownOrigin)
      throw new Refusal(403, 'foreign_origin', 'This request came from another site. Nothing was done.')
  })
  // JSON alone is left: what no form of any site can send
  app.removeContentTypeParser('text/plain')

  app.setErrorHandler(async (error, request, reply) => {
    const { status, code, description, retryAfter, cause } = refusalOf(error)
    if (status >= 500) request.log.error({ err: cause }, code)
    if (retryAfter !== null) reply.header('retry-after', retryAfter)
    reply.code(status)
    if (request.method === 'POST') return reply.send({ error: code, error_description: description })
    return reply.type('text/html; charset=utf-8').send(errorPage(description))
  })
  app.setNotFoundHandler(async () => {
    throw new Refusal(404, 'not_found', 'There is nothing at this address.')
  })
}

/** Whatever went wrong, as something to answer. A defect tells the log and nobody else. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const { statusCode: status = 500 } = error as { statusCode?: number }
  // What Fastify turns away before a route sees it: too large, no JSON, cut off
  if (status < 500) return new Refusal(status, 'invalid_request', 'This request cannot be read.')
  return new Refusal(500, 'server_error', 'Something went wrong on our side. Try again.', null, error)
}
