/**
 * Protects a server of the official MCP SDK, `@modelcontextprotocol/server` 2.x or `/sdk` 1.x.
 * @module @grantor/resource/mcp
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccessToken } from './access-token.ts'
import { send } from './express.ts'
import { toResponse } from './fetch-answer.ts'
import { type AuthInfo, authInfoOf } from './mcp-auth-info.ts'
import { createCallerCheck, type McpCallers } from './mcp-callers.ts'
import { checkTools, readMessage, type ToolNeeds, unusableArguments } from './mcp-message.ts'
import { type PresentedRequest, pathOf } from './presented-token.ts'
import type { Answer, ProtectedResource } from './protected-resource.ts'
import type { Needs } from './token-check.ts'

export { accessTokenOf } from './checked-tokens.ts'
export { serveMetadata } from './express.ts'
export { type AuthInfo, createTokenVerifier } from './mcp-auth-info.ts'
export type { McpCallers } from './mcp-callers.ts'
export type { ToolNeed, ToolNeeds } from './mcp-message.ts'
export { answerRefusals } from './mcp-refusals.ts'

/** What every call needs, what single tools need in addition, and which callers in browsers are accepted. */
export type McpNeeds = Needs & McpCallers & { tools?: ToolNeeds }

/** `createMcpHandler` of `@modelcontextprotocol/server`, and similar handlers. */
interface McpHandler {
  fetch(request: Request, options: { authInfo: AuthInfo; parsedBody?: unknown }): Promise<Response>
}

/**
 * Protects a handler of `@modelcontextprotocol/server` 2.x. The result serves the metadata document (RFC 9728) and, at
 * the path of the resource, the MCP server. A call from a foreign page is refused with 403 (`McpCallers`).
 *
 * A call of a tool whose scopes the token lacks, or whose limit is used up, is answered with 403 `insufficient_scope`, so that the client steps up.
 */
export function protectMcp(resource: ProtectedResource, handler: McpHandler, needs: McpNeeds = {}) {
  const path = new URL(resource.metadata.resource).pathname
  const findForeignCaller = createCallerCheck(resource, needs)

  async function fetch(request: Request): Promise<Response> {
    const metadata = resource.answerMetadata(request)
    if (metadata) return toResponse(metadata)
    if (pathOf(request.url) !== path) return new Response(null, { status: 404 })
    const foreign = findForeignCaller(request)
    if (foreign) return toResponse(resource.answerRefusal(foreign))
    const admission = await resource.admit(request, needs)
    if (admission.kind === 'refused') return toResponse(admission.answer)
    if (!needs.tools || request.method !== 'POST')
      return handler.fetch(request, { authInfo: authInfoOf(resource, request, admission.token) })
    // After the token, so that a call without a token makes this server read no body.
    const message = await readMessage(request)
    if (message.kind === 'unreadable') return message.response
    const admitted = await admitTools(resource, request, admission.token, needs.tools, message.body)
    if ('status' in admitted) return toResponse(admitted)
    // The body that was checked, and no other, is what the SDK executes.
    return handler.fetch(message.request, { authInfo: admitted, parsedBody: message.body })
  }

  return { fetch }
}

async function admitTools(
  resource: ProtectedResource,
  request: PresentedRequest,
  token: AccessToken,
  tools: ToolNeeds,
  body: unknown,
): Promise<AuthInfo | Answer> {
  try {
    const checked = await checkTools(resource, token, tools, body)
    return checked.kind === 'unusable' ? unusableArguments(checked.id) : authInfoOf(resource, request, token, checked.draws)
  } catch (error) {
    return resource.answerRefusal(error)
  }
}

type NodeRequest = IncomingMessage & { originalUrl?: string; body?: unknown; auth?: unknown }

/**
 * Middleware before the transport of `@modelcontextprotocol/sdk` 1.x, for Express. Sets `request.auth`, which the
 * transport passes to the tools. A call from a foreign page is refused with 403 (`McpCallers`). If `needs.tools` is set,
 * `express.json()` must run before it.
 */
export function requireToken(resource: ProtectedResource, { tools, origins, hosts, ...needs }: McpNeeds = {}) {
  const findForeignCaller = createCallerCheck(resource, { origins, hosts })

  async function admit(request: NodeRequest): Promise<AuthInfo | Answer> {
    const foreign = findForeignCaller(request)
    if (foreign) return resource.answerRefusal(foreign)
    const admission = await resource.admit(request, needs)
    if (admission.kind === 'refused') return admission.answer
    if (tools && request.method === 'POST') {
      // The transport would parse a body that was not parsed yet, and the body would not be checked.
      if (request.body === undefined || !request.readableEnded) return UNPARSED
      return admitTools(resource, request, admission.token, tools, request.body)
    }
    return authInfoOf(resource, request, admission.token)
  }

  return (request: NodeRequest, response: ServerResponse, next: (error?: unknown) => void): void => {
    admit(request).then((admitted) => {
      if ('status' in admitted) return send(response, admitted)
      request.auth = admitted
      next()
    }, next)
  }
}

/** Middleware for Express: the check of foreign pages alone, for servers that use `requireBearerAuth` of the SDK 1.x. */
export function refuseForeignCallers(resource: ProtectedResource, callers: McpCallers = {}) {
  const findForeignCaller = createCallerCheck(resource, callers)
  return (request: NodeRequest, response: ServerResponse, next: (error?: unknown) => void): void => {
    const foreign = findForeignCaller(request)
    if (foreign) send(response, resource.answerRefusal(foreign))
    else next()
  }
}

const UNPARSED: Answer = { status: 415, headers: { 'Content-Type': 'text/plain' }, body: 'The body must be JSON.' }
