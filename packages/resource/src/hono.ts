/**
 * Middleware for Hono.
 * @module @grantor/resource/hono
 */
import { keepAccessToken } from './checked-tokens.ts'
import { toResponse } from './fetch-answer.ts'
import type { ProtectedResource } from './protected-resource.ts'
import type { Needs } from './token-check.ts'

export { accessTokenOf } from './checked-tokens.ts'

/** The part of Hono's context that is used here. */
interface Context {
  req: { raw: Request }
}
type Middleware = (context: Context, next: () => Promise<void>) => Promise<Response | undefined>

/** Serves the metadata document of the API (RFC 9728): `app.use(serveMetadata(resource))`. */
export function serveMetadata(resource: ProtectedResource): Middleware {
  return async (context, next) => {
    const answer = resource.answerMetadata(context.req.raw)
    if (answer) return toResponse(answer)
    await next()
    return undefined
  }
}

/**
 * Lets a request pass only with an access token that has what the call needs. Otherwise the request is refused. The handler
 * reads the token with `accessTokenOf(context)`.
 */
export function requireToken(resource: ProtectedResource, needs?: Needs): Middleware {
  return async (context, next) => {
    const admission = await resource.admit(context.req.raw, needs)
    if (admission.kind === 'refused') return toResponse(admission.answer)
    keepAccessToken(context, admission.token)
    await next()
    return undefined
  }
}

/** Answers a refusal that a handler threw, such as one of `resource.require`, `resource.approve` or `resource.draw`: `app.onError(answerRefusals(resource))`. */
export function answerRefusals(resource: ProtectedResource) {
  return (error: unknown): Response => toResponse(resource.answerRefusal(error))
}
