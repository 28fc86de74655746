/**
 * One call to one JSON-RPC endpoint (JSON-RPC 2.0 over HTTP).
 *
 * Another party runs the endpoint: it may hang, respond at length, redirect, or send anything else. All of that is
 * `unavailable`, within the timeout; nothing throws.
 */

export type RpcOptions = {
  /** From the operator's configuration, never from a user. */
  url: string
  /** From the request to the last byte of the response; 2,000 unless set. */
  timeoutMs?: number
  /** Maximum size of a response in bytes; 16,384 unless set. Expected responses have a few dozen. */
  responseLimit?: number
  /**
   * Maximum number of concurrent calls; 32 unless set. A further call is refused here, before the endpoint applies its
   * rate limit to all calls.
   */
  concurrency?: number
  /** runs each call, for traces; the call gets further headers */
  callWith?: CallWith | undefined
}

export type CallWith = (
  of: { host: string; method: string },
  call: (headers: Readonly<Record<string, string>>) => Promise<RpcAnswer>,
) => Promise<RpcAnswer>

/**
 * `why` names the endpoint's host and the failure, never the path, because providers put keys into paths,
 * or the endpoint's text.
 */
export type RpcAnswer = { kind: 'result'; result: unknown } | { kind: 'unavailable'; why: string }

export type Rpc = { host: string; ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> }

export function createRpc(options: RpcOptions): Rpc {
  const { url, timeoutMs = 2_000, responseLimit = 16_384, concurrency = 32, callWith = (_of, call) => call({}) } = options
  const { host } = new URL(url)
  let underWay = 0
  let lastId = 0

  function ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    return callWith({ host, method }, (headers) => call(method, params, headers))
  }

  async function call(method: string, params: readonly unknown[], headers: Readonly<Record<string, string>>): Promise<RpcAnswer> {
    if (underWay >= concurrency) return { kind: 'unavailable', why: `${host}: busy` }
    underWay++
    try {
      const id = ++lastId
      const answer = await post(JSON.stringify({ jsonrpc: '2.0', id, method, params }), headers)
      return { kind: 'result', result: readResult(answer, id) }
    } catch (error) {
      return { kind: 'unavailable', why: `${host}: ${reasonOf(error)}` }
    } finally {
      underWay--
    }
  }

  async function post(body: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body,
      // If redirects were followed, the endpoint could choose the server that this machine calls.
      redirect: 'manual',
      // The timeout includes reading the body, so a slow response ends as well.
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new EndpointUnavailable(`http_${response.status}`)
    }
    return readText(response, responseLimit)
  }

  return { host, ask }
}

class EndpointUnavailable extends Error {}

/** The body, uncompressed and read only up to the limit. */
async function readText(response: Response, limit: number): Promise<string> {
  if (response.body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    // Leaving the loop closes the connection.
    if (size > limit) throw new EndpointUnavailable('too_long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** JSON-RPC 2.0 §5: the result of the call with this id. */
function readResult(text: string, id: number): unknown {
  const answer = parseReply(text)
  if (typeof answer !== 'object' || answer === null || !('id' in answer) || answer.id !== id)
    throw new EndpointUnavailable('malformed')
  if ('error' in answer && answer.error !== null && answer.error !== undefined) {
    // Only the error's number: its message is text that the endpoint chose.
    const code = typeof answer.error === 'object' && 'code' in answer.error ? answer.error.code : undefined
    throw new EndpointUnavailable(typeof code === 'number' ? `error_${code}` : 'error')
  }
  if (!('result' in answer)) throw new EndpointUnavailable('malformed')
  return answer.result
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new EndpointUnavailable('malformed')
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof EndpointUnavailable) return error.message
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'timed_out' : 'unreachable'
}
