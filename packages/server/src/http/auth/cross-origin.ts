/**
 * Cross-origin reads (CORS). Metadata and keys are public. The token, revocation, PAR and userinfo endpoints are open
 * only to the origins of public clients, whose scripts run there, and never with credentials. No other endpoint can be
 * read from a page of another origin, the authorization endpoint in particular (RFC 9700 §2.6, OpenID Connect Discovery
 * §3).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpService } from './service.ts'
import { refuseMethod } from './unknown-route.ts'

const PREFLIGHT = {
  'access-control-allow-headers': 'authorization, content-type, dpop',
  'access-control-max-age': '600',
}

/**
 * Scripts may read these fields of a response too: the request id, for a report, and the time of the next attempt
 * (RFC 9110 §10.2.3).
 */
const EXPOSED = 'x-request-id, retry-after'

export const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }

/**
 * Opens one endpoint to the origins of public clients. The function registers the preflight response. The hook that it
 * returns belongs on the route itself and runs before the body is read, so that a script can read every refusal too.
 */
export function openToPublicClients(server: FastifyInstance, service: HttpService, url: string, methods = ['POST']) {
  server.options(url, async (request, reply) => {
    if (!(await allowOrigin(service, request, reply))) return refuseMethod(reply, methods)
    return reply
      .code(204)
      .headers({ ...PREFLIGHT, 'access-control-allow-methods': methods.join(', ') })
      .send()
  })
  return {
    onRequest(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
      // Most callers are not pages and need no look-up.
      if (request.headers.origin === undefined) done(void reply.header('vary', 'Origin'))
      else allowOrigin(service, request, reply).then(() => done(), done)
    },
  }
}

/** Adds the headers if the caller's origin belongs to a public client. If the store fails, the origin is not allowed. */
async function allowOrigin(service: HttpService, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  void reply.header('vary', 'Origin')
  const { origin } = request.headers
  if (origin === undefined) return false
  if (!(await service.deps.clients.isPublicOrigin(origin).catch(() => false))) return false
  // These fields show why a token was refused (RFC 6750 §3) and the nonce of the next proof (RFC 9449 §8.2).
  const exposed = `www-authenticate, dpop-nonce, ${EXPOSED}`
  void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed })
  return true
}
