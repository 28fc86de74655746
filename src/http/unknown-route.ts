/** Requests without a route: a registered path with another method is 405 with `Allow` (RFC 9110 §15.5.6), any other path 404. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { noticePage } from '../pages/notice-page.ts'
import { pageHeaders } from '../pages/page-headers.ts'
import { JSON_HEADERS } from './error-reply.ts'

export function refuseUnknownRoutes(server: FastifyInstance): void {
  const methods = new Map<string, Set<string>>()
  server.addHook('onRoute', ({ url, method }) => {
    const registered = methods.get(url) ?? new Set()
    for (const each of [method].flat()) registered.add(each)
    methods.set(url, registered)
  })
  // Refused before a body is read, because no route will use the body.
  server.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(request, reply)
    else done()
  })

  function refuse(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const [path = ''] = request.url.split('?', 1)
    const url = methods.has(path) ? path : [...methods.keys()].find((each) => isPathOf(each, path))
    const allowed = url === undefined ? undefined : methods.get(url)
    if (allowed) return refuseMethod(reply, [...allowed])
    if (path.startsWith('/oauth/') || path.startsWith('/.well-known/')) {
      return reply.code(404).headers(JSON_HEADERS).send({ error: 'invalid_request', error_description: 'There is nothing here.' })
    }
    return reply
      .code(404)
      .headers(pageHeaders())
      .send(noticePage({ kind: 'not_found' }))
  }
}

/** Whether a route accepts this path: each `:name` in the route matches one segment. */
function isPathOf(url: string, path: string): boolean {
  const segments = url.split('/')
  // One segment more than the route has, so that a path of thousands of slashes is not split completely.
  const requested = path.split('/', segments.length + 1)
  return (
    segments.length === requested.length &&
    segments.every((segment, i) => (segment.startsWith(':') ? requested[i] !== '' : segment === requested[i]))
  )
}

export function refuseMethod(reply: FastifyReply, allowed: string[]): FastifyReply {
  const body = { error: 'invalid_request', error_description: `Use ${allowed.join(' or ')} here.` }
  return reply
    .code(405)
    .headers({ ...JSON_HEADERS, allow: allowed.join(', ') })
    .send(body)
}
