import type { AccessToken } from './access-token.ts'
import type { ProtectedResource } from './protected-resource.ts'
import type { Requirements } from './requirements.ts'

/** What single tools need, by the name of the tool. */
export type ToolNeeds = Readonly<Record<string, Requirements>>

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
 * Checks what the tools need that a message calls. A batch of messages needs what each of its messages needs.
 *
 * @throws ResourceError
 */
export function checkTools(resource: ProtectedResource, token: AccessToken, tools: ToolNeeds, body: unknown): void {
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  for (const message of messages) {
    const name = calledTool(message)
    // Own members only: a client chooses the name.
    if (name !== undefined && Object.hasOwn(tools, name)) resource.require(token, tools[name] ?? {})
  }
}

function calledTool(message: unknown): string | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } | null }
  const name = method === 'tools/call' ? params?.name : undefined
  return typeof name === 'string' ? name : undefined
}
