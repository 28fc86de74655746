import type { FastifyInstance } from 'fastify'
import { errorPage, pageHeaders } from './pages.ts'
import { Refusal } from './refusal.ts'

/** Sets the headers of every response, refuses each POST from another site, and responds to errors. */
export function guard(app: FastifyInstance, ownOrigin: string): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(pageHeaders)
    // A page of another site must not sign, cancel or vouch for the user. No page can change the header Origin.
    if (request.method === 'POST' && request.headers.origin !== ownOrigin)
      throw new Refusal(403, 'foreign_origin', 'This request came from another site. Nothing was done.')
  })
  // Only JSON remains, and no form can send JSON.
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

/** The refusal for an error. The cause of a defect is in the log only. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const { statusCode: status = 500 } = error as { statusCode?: number }
  // Fastify refused the request before it reached a route: too large, not JSON, or incomplete.
  if (status < 500) return new Refusal(status, 'invalid_request', 'This request cannot be read.')
  return new Refusal(500, 'server_error', 'Something went wrong on our side. Try again.', null, error)
}
