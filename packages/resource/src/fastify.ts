/**
 * A plugin and a hook for Fastify.
 * @module @grantor/resource/fastify
 */
import { keepAccessToken } from './checked-tokens.ts'
import type { PresentedRequest } from './presented-token.ts'
import type { Answer, ProtectedResource } from './protected-resource.ts'
import type { Needs } from './token-check.ts'

export { accessTokenOf } from './checked-tokens.ts'

/** The parts of Fastify's request and reply that are used here, so that any version of Fastify fits. */
interface Request {
  raw: PresentedRequest
  method: string
  originalUrl: string
}
interface Reply {
  raw: unknown
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  send(body: string): unknown
}
interface Server {
  route(route: { method: string[]; url: string; handler: (request: Request, reply: Reply) => unknown }): unknown
}

/** A plugin that serves the metadata document of the API (RFC 9728): `app.register(serveMetadata(resource))`. */
export function serveMetadata(resource: ProtectedResource) {
  return async (server: Server): Promise<void> => {
    server.route({
      method: ['GET', 'OPTIONS'],
      url: resource.metadataPath,
      handler: (request, reply) => {
        const answer = resource.answerMetadata({ method: request.method, url: resource.metadataPath })
        return answer && send(reply, answer)
      },
    })
  }
}

/**
 * A hook for `onRequest`, of one route or of all routes of a plugin. A request passes only with an access token
 * that has what the call needs, and is answered otherwise. The handler reads the token with `accessTokenOf(request)`.
 */
export function requireToken(resource: ProtectedResource, needs?: Needs) {
  return async (request: Request, reply: Reply): Promise<unknown> => {
    const { raw, originalUrl: url, method } = request
    // Node's request object, which also has the headers that were sent twice.
    const presented = { headers: raw.headers, ...(raw.rawHeaders ? { rawHeaders: raw.rawHeaders } : {}), url, method }
    const admission = await resource.admit(presented, needs)
    if (admission.kind === 'refused') return send(reply, admission.answer)
    keepAccessToken(request, admission.token)
    return undefined
  }
}

/** Answers a refusal that a handler threw, such as one of `resource.require`, `resource.approve` or `resource.draw`: `app.setErrorHandler(answerRefusals(resource))`. */
export function answerRefusals(resource: ProtectedResource) {
  return (error: unknown, _request: unknown, reply: Reply): unknown => send(reply, resource.answerRefusal(error))
}

function send(reply: Reply, { status, headers, body }: Answer): Reply {
  reply.code(status)
  reply.headers({ ...headers })
  reply.send(body)
  return reply
}
