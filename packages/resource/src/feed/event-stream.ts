/** The events of a stream (HTML, "Server-sent events"), as far as the feed uses them: one `data` line and an `id`. */
import { startTimer, unrefConnection } from './machine.ts'
import { FeedFault } from './problem.ts'

/** Characters. A message of 50,000 entries has 1.5 million. */
const LINE_AT_MOST = 4 * 1024 * 1024
/** Milliseconds. The server sends a message at least once a second. */
const SILENCE_AT_MOST = 5000

export type FeedEvent = { id: string | undefined; data: string }

export type StreamRequest = { url: URL; headers: Record<string, string>; ask: typeof fetch; signal: AbortSignal }

/**
 * The events of one response, until the server ends the response or `signal` is aborted. The connection does not keep the process alive.
 *
 * @throws FeedFault if the response is no stream of events, or if nothing arrives for five seconds
 */
export async function* readEvents({ url, headers, ask, signal }: StreamRequest): AsyncGenerator<FeedEvent> {
  const stop = new AbortController()
  const abort = () => stop.abort(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  let silence: ReturnType<typeof setTimeout> | undefined
  const limitSilence = () => {
    clearTimeout(silence)
    silence = startTimer(() => stop.abort(new FeedFault('unreachable', 'no data')), SILENCE_AT_MOST)
  }
  const stopSearch = unrefConnection(url)
  try {
    limitSilence()
    const chunks = await open(url, { headers, ask, signal: stop.signal })
    stopSearch()
    const lines = new EventLines()
    for await (const chunk of chunks) {
      limitSilence()
      yield* lines.read(chunk)
    }
  } catch (error) {
    throw stop.signal.reason instanceof FeedFault ? stop.signal.reason : error
  } finally {
    clearTimeout(silence)
    stopSearch()
    signal.removeEventListener('abort', abort)
    // Otherwise a body that was not read to the end would keep the connection.
    stop.abort()
  }
}

type Opening = { headers: Record<string, string>; ask: typeof fetch; signal: AbortSignal }

async function open(url: URL, { headers, ask, signal }: Opening): Promise<AsyncIterable<Uint8Array>> {
  // A redirect would send the API's credentials to an address that the operator did not configure. `manual` returns the redirect, whose
  // status is not 200. Workers do not have `error`.
  const response = await ask(url, { headers: { ...headers, accept: 'text/event-stream' }, redirect: 'manual', signal })
  const { status, body } = response
  if (status !== 200) {
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    const retryAfter = seconds > 0 && seconds <= 60 ? seconds : 0
    throw new FeedFault(REFUSALS.has(status) ? 'refused' : 'unreachable', `status ${status}`, { retryAfter })
  }
  if (!body || !/^text\/event-stream(?:;|$)/i.test(response.headers.get('content-type') ?? ''))
    throw new FeedFault('unreachable', 'the response is no stream of events')
  return chunksOf(body)
}

const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 429])

/** Not every runtime can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
}

class EventLines {
  readonly #decoder = new TextDecoder()
  /** the beginning of a line whose end has not arrived */
  #begin: string[] = []
  #length = 0
  #id: string | undefined
  #data: string | undefined;

  /** The events that end in this chunk of the body. */
  *read(chunk: Uint8Array): Generator<FeedEvent> {
    const text = this.#decoder.decode(chunk, { stream: true })
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#append(text.slice(start, end))
      start = end + 1
      const event = this.#endLine()
      if (event) yield event
    }
    this.#append(text.slice(start))
  }

  #append(text: string): void {
    this.#length += text.length
    if (this.#length > LINE_AT_MOST) throw new FeedFault('message_refused', 'a line is too long')
    if (text !== '') this.#begin.push(text)
  }

  /** Returns an event at an empty line. Lines of other fields, and comments, are ignored. */
  #endLine(): FeedEvent | undefined {
    const line = this.#begin.join('').replace(/\r$/, '')
    this.#begin = []
    this.#length = 0
    if (line === '') return this.#endEvent()
    const colon = line.indexOf(':')
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (line.startsWith('id:')) this.#id = value
    if (line.startsWith('data:')) {
      if (this.#data !== undefined) throw new FeedFault('message_refused', 'two data lines')
      this.#data = value
    }
    return undefined
  }

  #endEvent(): FeedEvent | undefined {
    const [id, data] = [this.#id, this.#data]
    this.#id = undefined
    this.#data = undefined
    return data === undefined ? undefined : { id, data }
  }
}
