/**
 * Route handlers for Next.js, and for every framework whose handlers take a `Request`.
 * @module @grantor/resource/next
 */
import type { AccessToken } from './access-token.ts'
import { keepAccessToken } from './checked-tokens.ts'
import { toResponse } from './fetch-answer.ts'
import type { ProtectedResource } from './protected-resource.ts'
import type { Needs } from './token-check.ts'

type Handler<Incoming extends Request, Rest extends unknown[]> = (request: Incoming, ...rest: Rest) => Promise<Response>

/**
 * The route handlers that serve the metadata document of the API (RFC 9728). For the resource
 * `https://example.com/api`, in `app/.well-known/oauth-protected-resource/api/route.ts`:
 *
 *     export const { GET, OPTIONS } = serveMetadata(resource)
 */
export function serveMetadata(resource: ProtectedResource) {
  const answer = (method: string) => (): Response => {
    const found = resource.answerMetadata({ method, url: resource.metadataPath })
    return found ? toResponse(found) : new Response(null, { status: 404 })
  }
  return { GET: answer('GET'), OPTIONS: answer('OPTIONS') }
}

/**
 * A route handler that runs only for requests with an access token that has what the call needs. The handler gets the
 * token after the request, and then what Next.js passes. A refusal of `resource.require`, `resource.approve` or `resource.draw` in the handler is answered too.
 */
export function requireToken<Incoming extends Request, Rest extends unknown[]>(
  resource: ProtectedResource,
  needs: Needs,
  handler: (request: Incoming, token: AccessToken, ...rest: Rest) => Response | Promise<Response>,
): Handler<Incoming, Rest> {
  return async (request, ...rest) => {
    const admission = await resource.admit(request, needs)
    if (admission.kind === 'refused') return toResponse(admission.answer)
    // For `resource.approve(request, …)` and `resource.draw(request, …)`.
    keepAccessToken(request, admission.token)
    try {
      return await handler(request, admission.token, ...rest)
    } catch (error) {
      return toResponse(resource.answerRefusal(error))
    }
  }
}
