/** Requests without a route: a registered path with another method is 405 with `Allow` (RFC 9110 §15.5.6), any other path 404. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readerOf } from '../../pages/languages.ts'
import { noticePage } from '../../pages/notice-page.ts'
import { pageHeaders } from '../../pages/page-headers.ts'
import { recordRouteMethods } from '../route-methods.ts'
import { JSON_HEADERS } from './error-reply.ts'

export function refuseUnknownRoutes(server: FastifyInstance): void {
  const methodsOf = recordRouteMethods(server)
  // Refused before a body is read, because no route will use the body.
  server.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(request, reply)
    else done()
  })

  function refuse(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const [path = ''] = request.url.split('?', 1)
    const allowed = methodsOf(path)
    if (allowed) return refuseMethod(reply, allowed)
    if (path.startsWith('/oauth/') || path.startsWith('/.well-known/')) return refuseUnknownPath(reply)
    return reply
      .code(404)
      .headers(pageHeaders(reply))
      .send(noticePage({ kind: 'not_found' }, readerOf(reply)))
  }
}

export function refuseUnknownPath(reply: FastifyReply): FastifyReply {
  return reply.code(404).headers(JSON_HEADERS).send({ error: 'invalid_request', error_description: 'There is nothing here.' })
}

export function refuseMethod(reply: FastifyReply, allowed: string[]): FastifyReply {
  const body = { error: 'invalid_request', error_description: `Use ${allowed.join(' or ')} here.` }
  return reply
    .code(405)
    .headers({ ...JSON_HEADERS, allow: allowed.join(', ') })
    .send(body)
}
