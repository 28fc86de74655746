/** `grantor/resource/mcp`: protects a server of the official MCP SDK, `@modelcontextprotocol/server` 2.x or `/sdk` 1.x. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccessToken } from './access-token.ts'
import { send } from './express.ts'
import { toResponse } from './fetch-answer.ts'
import { checkTools, readMessage, type ToolNeeds } from './mcp-message.ts'
import { headerValues, pathOf } from './presented-token.ts'
import type { ProtectedResource } from './protected-resource.ts'
import type { Needs } from './token-check.ts'

export { serveMetadata } from './express.ts'

/** `AuthInfo` of the SDK: what a tool reads about its caller. */
export interface AuthInfo {
  token: string
  clientId: string
  scopes: string[]
  expiresAt: number
  resource: URL
  /** The wallet for which the client calls, and the whole checked token. */
  extra: { wallet: string; accessToken: AccessToken }
}

/** What every call needs, and what single tools need in addition. */
export type McpNeeds = Needs & { tools?: ToolNeeds }

/** `createMcpHandler` of `@modelcontextprotocol/server`, and what is like it. */
interface McpHandler {
  fetch(request: Request, options: { authInfo: AuthInfo; parsedBody?: unknown }): Promise<Response>
}

/**
 * Protects a handler of `@modelcontextprotocol/server` 2.x. The result serves the metadata document (RFC 9728) and, at
 * the path of the resource, the MCP server.
 *
 * A call of a tool whose scopes the token lacks is answered with 403 `insufficient_scope`, so that the client steps up.
 */
export function protectMcp(resource: ProtectedResource, handler: McpHandler, needs: McpNeeds = {}) {
  const path = pathOf(resource.metadata.resource) || '/'

  async function fetch(request: Request): Promise<Response> {
    const metadata = resource.answerMetadata(request)
    if (metadata) return toResponse(metadata)
    if (pathOf(request.url) !== path) return new Response(null, { status: 404 })
    const admission = await resource.admit(request, needs)
    if (admission.kind === 'refused') return toResponse(admission.answer)
    const authInfo = authInfoOf(resource, headerValues(request, 'authorization')[0], admission.token)
    if (!needs.tools || request.method !== 'POST') return handler.fetch(request, { authInfo })
    // After the token, so that only callers with a token can make this server read a body.
    const message = await readMessage(request)
    if (message.kind === 'unreadable') return message.response
    try {
      checkTools(resource, admission.token, needs.tools, message.body)
    } catch (error) {
      return toResponse(resource.answerRefusal(error))
    }
    // The body that was checked, and no other, is what the SDK executes.
    return handler.fetch(message.request, { authInfo, parsedBody: message.body })
  }

  return { fetch }
}

type WithBody = IncomingMessage & { originalUrl?: string; body?: unknown; auth?: unknown }

/**
 * Middleware before the transport of `@modelcontextprotocol/sdk` 1.x, for Express. It sets `request.auth`, which the
 * transport passes to the tools. If `needs.tools` is set, `express.json()` must run before it.
 */
export function requireToken(resource: ProtectedResource, { tools, ...needs }: McpNeeds = {}) {
  return (request: WithBody, response: ServerResponse, next: (error?: unknown) => void): void => {
    resource
      .admit(request, needs)
      .then((admission) => {
        if (admission.kind === 'refused') return send(response, admission.answer)
        if (tools && request.method === 'POST') {
          if (request.body === undefined) throw new TypeError('needs.tools needs a parsed body: put express.json() first')
          try {
            checkTools(resource, admission.token, tools, request.body)
          } catch (error) {
            return send(response, resource.answerRefusal(error))
          }
        }
        request.auth = authInfoOf(resource, request.headers.authorization, admission.token)
        next()
      })
      .catch(next)
  }
}

/** The raw token is what a server needs to exchange it for the token of an API behind it (RFC 8693). */
function authInfoOf({ metadata }: ProtectedResource, authorization = '', token: AccessToken): AuthInfo {
  const { clientId, scopes, expiresAt, wallet } = token
  const raw = authorization.slice(authorization.indexOf(' ') + 1).trim()
  const extra = { wallet, accessToken: token }
  return { token: raw, clientId, scopes: [...scopes], expiresAt, resource: new URL(metadata.resource), extra }
}
