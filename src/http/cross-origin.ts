/**
 * Cross-origin reads (CORS). Metadata and keys are public; the token, revocation, PAR and userinfo endpoints open only to the origins
 * of public clients, whose scripts run there, and never with credentials. Nothing else is readable from a foreign page, the
 * authorization endpoint least of all (RFC 9700 §2.6, OpenID Connect Discovery §3).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from './service.ts'
import { refuseMethod } from './unknown-route.ts'

const PREFLIGHT = {
  'access-control-allow-headers': 'authorization, content-type, dpop',
  'access-control-max-age': '600',
}

/** Scripts read these fields of an answer too: the id for a report, and when to come again (RFC 9110 §10.2.3). */
const EXPOSED = 'x-request-id, retry-after'

export const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }

/**
 * Opens one endpoint to the origins of public clients. Answers its preflight; the hook it returns goes on the route
 * itself, before the body is read, so that a script reads every refusal too.
 */
export function openToPublicClients(server: FastifyInstance, service: Service, url: string, methods = ['POST']) {
  server.options(url, async (request, reply) => {
    if (!(await allowOrigin(service, request, reply))) return refuseMethod(reply, methods)
    return reply
      .code(204)
      .headers({ ...PREFLIGHT, 'access-control-allow-methods': methods.join(', ') })
      .send()
  })
  return {
    onRequest(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
      // Most callers are no pages, and wait for nothing.
      if (request.headers.origin === undefined) done(void reply.header('vary', 'Origin'))
      else allowOrigin(service, request, reply).then(() => done(), done)
    },
  }
}

/** Adds the headers where the caller's origin is a public client's. A store that cannot say means no. */
async function allowOrigin(service: Service, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  void reply.header('vary', 'Origin')
  const { origin } = request.headers
  if (origin === undefined) return false
  if (!(await service.deps.clients.isPublicOrigin(origin).catch(() => false))) return false
  // Which say why a token was refused (RFC 6750 §3), and what the next proof is to hold (RFC 9449 §8.2).
  const exposed = `www-authenticate, dpop-nonce, ${EXPOSED}`
  void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed })
  return true
}
