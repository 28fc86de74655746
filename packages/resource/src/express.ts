/**
 * Middleware for Express, and for every framework that calls `(request, response, next)`.
 * @module @grantor/resource/express
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { keepAccessToken } from './checked-tokens.ts'
import type { Answer, ProtectedResource } from './protected-resource.ts'
import type { Needs } from './token-check.ts'

export { accessTokenOf } from './checked-tokens.ts'

export type Middleware = (
  request: IncomingMessage & { originalUrl?: string },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Serves the metadata document of the API (RFC 9728). Use this middleware at the root of the app: `app.use(serveMetadata(resource))`.
 */
export function serveMetadata(resource: ProtectedResource): Middleware {
  return (request, response, next) => {
    const answer = resource.answerMetadata({ method: request.method, url: request.originalUrl ?? request.url })
    if (answer) send(response, answer)
    else next()
  }
}

/**
 * Lets a request pass only with an access token that has what the call needs. Otherwise the request is refused. The handler
 * reads the token with `accessTokenOf(request)`.
 */
export function requireToken(resource: ProtectedResource, needs?: Needs): Middleware {
  return (request, response, next) => {
    resource.admit(request, needs).then((admission) => {
      if (admission.kind === 'refused') return send(response, admission.answer)
      keepAccessToken(request, admission.token)
      next()
    }, next)
  }
}

/** Answers a refusal that a handler threw, such as one of `resource.require`, `resource.approve` or `resource.draw`. Use this handler after the routes. */
export function answerRefusals(resource: ProtectedResource) {
  return (error: unknown, _request: unknown, response: ServerResponse, next: (error?: unknown) => void): void => {
    try {
      send(response, resource.answerRefusal(error))
    } catch (other) {
      next(other)
    }
  }
}

export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body)
}
