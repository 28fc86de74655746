/** How a tool of an MCP server answers a refusal, such as that of an action that the user has not signed. */
import { ApprovalError } from './approval-error.ts'
import type { ProtectedResource } from './protected-resource.ts'
import type { ResourceError } from './resource-error.ts'

/** The part of `McpServer` of either SDK that is used here. */
interface McpServer {
  server: { getClientCapabilities(): Capabilities | undefined }
}
interface Capabilities {
  elicitation?: { url?: object | undefined } | undefined
}

/** The page that the client opens for the user (MCP 2025-11-25, "URL Mode Elicitation Requests"). */
interface UrlElicitation {
  mode: 'url'
  elicitationId: string
  url: string
  message: string
}
type UrlElicitationRequired = new (elicitations: UrlElicitation[], message: string) => Error

/** The last argument of a tool of the SDK 2.x. */
interface Context2 {
  mcpReq: { envelope?: Record<string, unknown>; inputResponses?: Record<string, unknown> }
}

/** The name of this input among those that a tool of the SDK 2.x requires. */
const INPUT = 'wallet_approval'

/**
 * Makes the wrapper of the tools of one server. A wrapped tool answers a refusal that the handler threw, such as one of `resource.require`,
 * `resource.approve` or `resource.draw`. Without the wrapper, the SDK would leave out the link on which the user signs.
 *
 * A client that offers URL elicitation opens the link for the user. Otherwise the result of the tool has the link and the letters as text.
 * After the signature, a call with the same key goes on.
 *
 * @param urlElicitationRequired with 1.x of the SDK, the class `UrlElicitationRequiredError`; without the class, clients get the text. 2.x needs no class.
 */
export function answerRefusals(resource: ProtectedResource, server: McpServer, urlElicitationRequired?: UrlElicitationRequired) {
  function answer(error: ResourceError, context: unknown): object {
    if (!(error instanceof ApprovalError) || error.approvalUri === undefined) return textOf(error.description)
    const message = `Sign this action with your wallet. The page shows the letters ${error.userCode}.`
    const link = { mode: 'url' as const, url: error.approvalUri, message }
    if (!offersUrls(server, context)) return textOf(wordsOf(error))
    // The SDK 2.x answers with this result, or sends `elicitation/create` to a client of an earlier version of MCP, and then calls the tool again.
    if (isContext2(context))
      return context.mcpReq.inputResponses?.[INPUT] === undefined ? inputRequired(link) : textOf(wordsOf(error))
    if (!urlElicitationRequired) return textOf(wordsOf(error))
    throw new urlElicitationRequired([{ ...link, elicitationId: crypto.randomUUID() }], error.description)
  }

  // The type of the handler is also that of the result: then the SDK's types of the arguments hold inside of the handler.
  return <Handler extends (...given: never[]) => unknown>(handler: Handler): Handler => {
    const wrapped = async (...given: never[]): Promise<unknown> => {
      try {
        return await handler(...given)
      } catch (error) {
        // For the API's log. Throws any other error again.
        resource.answerRefusal(error)
        return answer(error as ResourceError, given.at(-1))
      }
    }
    return wrapped as Handler
  }
}

/** The SDK 2.x has the capabilities of the client in each request of MCP 2026-07-28. In earlier versions the client sends them once in a session. */
function offersUrls({ server }: McpServer, context: unknown): boolean {
  const envelope = isContext2(context) ? context.mcpReq.envelope : undefined
  const sent = envelope?.['io.modelcontextprotocol/clientCapabilities'] as Capabilities | undefined
  return (sent ?? server.getClientCapabilities())?.elicitation?.url !== undefined
}

function isContext2(context: unknown): context is Context2 {
  return typeof context === 'object' && context !== null && 'mcpReq' in context
}

/** The result of MCP 2026-07-28 with which a client asks the user and calls the tool again. */
function inputRequired(params: object): object {
  return { resultType: 'input_required', inputRequests: { [INPUT]: { method: 'elicitation/create', params } } }
}

function wordsOf({ description, approvalUri, userCode, expiresIn }: ApprovalError): string {
  return `${description}\nLink: ${approvalUri}\nLetters: ${userCode}\nThe link works for ${expiresIn} seconds.`
}

function textOf(text: string): object {
  return { content: [{ type: 'text', text }], isError: true }
}
