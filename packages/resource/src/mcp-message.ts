import type { AccessToken } from './access-token.ts'
import type { Draw, DrawRequest } from './draw.ts'
import type { Answer, ProtectedResource } from './protected-resource.ts'
import type { Requirements } from './requirements.ts'

/** What a call of one tool needs. */
export interface ToolNeed extends Requirements {
  /**
   * What a call of the tool draws from the limit of the user, before the tool runs: then a client whose limit is used up gets 403 and asks the user
   * again. The arguments are as the client sent them, and the SDK checks them later. Undefined refuses the call: the arguments are unusable.
   */
  draw?: (args: Readonly<Record<string, unknown>>) => DrawRequest | undefined
}

/** What single tools need, by the name of the tool. */
export type ToolNeeds = Readonly<Record<string, ToolNeed>>

/** What was drawn for the tools of a message, in their order; or the arguments of a tool are unusable. */
export type CheckedTools = { kind: 'checked'; draws: Draw[] } | { kind: 'unusable'; id: unknown }

/** As much as the SDK reads itself. */
const BODY_AT_MOST = 4 * 1024 * 1024

type Message = { kind: 'message'; request: Request; body: unknown } | { kind: 'unreadable'; response: Response }

/**
 * Reads the JSON-RPC message of a request.
 *
 * The body of a request can be read once, so the result has a request of the same method, address and headers without
 * the body, which goes to the SDK with the parsed message.
 */
export async function readMessage(request: Request): Promise<Message> {
  const text = await readAtMost(request, BODY_AT_MOST)
  if (text === undefined) return unreadable(413, -32_600, 'The message is too large.')
  const { method, url, headers, signal } = request
  try {
    return { kind: 'message', request: new Request(url, { method, headers, signal }), body: JSON.parse(text) }
  } catch {
    return unreadable(400, -32_700, 'The message is not JSON.')
  }
}

async function readAtMost({ body }: Request, limit: number): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    // Leaving the loop cancels the body.
    if (size > limit) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** JSON-RPC 2.0 §5. */
function unreadable(status: number, code: number, message: string): Message {
  return { kind: 'unreadable', response: Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status }) }
}

/**
 * Checks what the tools need that a message calls, and draws for them. A batch of messages needs what each of its messages needs, and nothing is drawn
 * before all of this is checked.
 *
 * @throws ResourceError
 */
export async function checkTools(
  resource: ProtectedResource,
  token: AccessToken,
  tools: ToolNeeds,
  body: unknown,
): Promise<CheckedTools> {
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  const requests: DrawRequest[] = []
  for (const message of messages) {
    const called = calledTool(message)
    // Own members only: a client chooses the name.
    if (!called || !Object.hasOwn(tools, called.name)) continue
    const { draw, ...needs } = tools[called.name] ?? {}
    resource.require(token, needs)
    if (!draw) continue
    const request = draw(called.args)
    if (!request) return { kind: 'unusable', id: called.id }
    requests.push(request)
  }
  const draws: Draw[] = []
  for (const request of requests) draws.push(await resource.draw(token, request))
  return { kind: 'checked', draws }
}

type CalledTool = { name: string; args: Readonly<Record<string, unknown>>; id: unknown }

function calledTool(message: unknown): CalledTool | undefined {
  const { id, method, params } = (message ?? {}) as { id?: unknown; method?: unknown; params?: Record<string, unknown> | null }
  if (method !== 'tools/call' || typeof params?.name !== 'string') return undefined
  const { name, arguments: args } = params
  return { name, args: typeof args === 'object' && args !== null ? { ...args } : {}, id: id ?? null }
}

/** JSON-RPC 2.0 §5.1: invalid params. */
export function unusableArguments(id: unknown): Answer {
  const body = { jsonrpc: '2.0', error: { code: -32_602, message: 'The arguments of the tool are unusable.' }, id }
  return { status: 400, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}
