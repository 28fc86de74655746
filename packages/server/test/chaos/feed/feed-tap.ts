/** The requests of an API to the nodes. The tap reads how old the feed is, apart from the reader under test. */

type Claims = { at: number; until: number; part?: [number, number] }

export class FeedTap {
  readonly #nodes: readonly string[]
  #turn = Math.floor(Math.random() * 100)
  /** The feed that has arrived is complete up to this moment of `performance.now()`, at most. */
  completeAt = Number.NEGATIVE_INFINITY
  /** true: nothing of the feed arrives any more, and a new connection hangs */
  isSilent = false

  constructor(nodes: readonly string[]) {
    this.#nodes = nodes
  }

  /** Sends a request for the issuer to one of the nodes. */
  async fetch({ pathname, search }: URL, init: RequestInit = {}): Promise<Response> {
    const isFeed = pathname.endsWith('/endings')
    if (isFeed && this.isSilent) return neverUntil(init.signal)
    const response = await fetch(new URL(pathname + search, this.#nodes[this.#turn++ % this.#nodes.length]), init)
    if (!isFeed || response.status !== 200 || !response.body) return response
    return new Response(response.body.pipeThrough(this.#read()), response)
  }

  #read(): TransformStream<Uint8Array, Uint8Array> {
    const decoder = new TextDecoder()
    let text = ''
    return new TransformStream({
      transform: (chunk, controller) => {
        if (this.isSilent) return
        const events = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
        text = events.pop() ?? ''
        for (const event of events) this.#note(claimsOf(event))
        controller.enqueue(chunk)
      },
    })
  }

  /** Everything that ended before `until` is in the messages, and `until` is as much earlier than `at` on the same clock. */
  #note({ at, until, part: [part, of] = [1, 1] }: Claims): void {
    if (part === of) this.completeAt = Math.max(this.completeAt, performance.now() - (at - until))
  }
}

function claimsOf(event: string): Claims {
  const [, payload = ''] = (/^data: *(.*)$/m.exec(event)?.[1] ?? '').split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
}

function neverUntil(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
}
