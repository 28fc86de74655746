/**
 * One question to one JSON-RPC endpoint (JSON-RPC 2.0 over HTTP).
 *
 * An endpoint is somebody else's server: it may hang, answer at length, redirect, or answer something else. All of that is
 * `unavailable`, within the time given; nothing throws.
 */

export type RpcOptions = {
  /** Configured by the operator; nothing a user sends ever gets in here. */
  url: string
  /** From the question to the last byte of the answer; 2,000 unless set. */
  timeoutMs?: number
  /** Bytes of the longest answer read; 16,384 unless set. The answers we ask for have a few dozen. */
  responseLimit?: number
  /** Questions under way at once; 32 unless set. One more is refused here, before the endpoint limits everybody. */
  concurrency?: number
}

/** `why` names the endpoint's host and what happened, nothing of its path or of what it said: providers put keys into paths. */
export type RpcAnswer = { kind: 'result'; result: unknown } | { kind: 'unavailable'; why: string }

export type Rpc = { host: string; ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> }

export function createRpc(options: RpcOptions): Rpc {
  const { url, timeoutMs = 2_000, responseLimit = 16_384, concurrency = 32 } = options
  const { host } = new URL(url)
  let underWay = 0
  let lastId = 0

  async function ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    if (underWay >= concurrency) return { kind: 'unavailable', why: `${host}: busy` }
    underWay++
    try {
      const id = ++lastId
      return { kind: 'result', result: readResult(await post(JSON.stringify({ jsonrpc: '2.0', id, method, params })), id) }
    } catch (error) {
      return { kind: 'unavailable', why: `${host}: ${reasonOf(error)}` }
    } finally {
      underWay--
    }
  }

  async function post(body: string): Promise<string> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      // Followed, a redirect would let the endpoint choose whom this machine talks to.
      redirect: 'manual',
      // Runs on while the body is read, so an answer that trickles ends as well.
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Unavailable(`http_${response.status}`)
    }
    return readText(response, responseLimit)
  }

  return { host, ask }
}

class Unavailable extends Error {}

/** The body, uncompressed and read only up to the limit. */
async function readText(response: Response, limit: number): Promise<string> {
  if (response.body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    // Leaving the loop ends the connection.
    if (size > limit) throw new Unavailable('too_long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** JSON-RPC 2.0 §5: the result of the question with this id. */
function readResult(text: string, id: number): unknown {
  const answer = parse(text)
  if (typeof answer !== 'object' || answer === null || !('id' in answer) || answer.id !== id) throw new Unavailable('malformed')
  if ('error' in answer && answer.error !== null && answer.error !== undefined) {
    // Of the error only its number: what it says is the endpoint's own text.
    const code = typeof answer.error === 'object' && 'code' in answer.error ? answer.error.code : undefined
    throw new Unavailable(typeof code === 'number' ? `error_${code}` : 'error')
  }
  if (!('result' in answer)) throw new Unavailable('malformed')
  return answer.result
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Unavailable('malformed')
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Unavailable) return error.message
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'timed_out' : 'unreachable'
}
