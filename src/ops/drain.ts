/** The time between being told to stop and the end of listening, in which a balancer learns to send requests elsewhere. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type Drain = {
  /** how long requests are still taken */
  seconds: number
  /** whether it has begun: readiness is over, requests are not */
  isStopping(): boolean
  /** From now on every answer of these servers ends its connection. */
  begin(servers: readonly Server[]): void
}

/**
 * A connection that a balancer keeps open must not be closed while it is about to send a request on it: it would take
 * a request that was never answered for one that may have been carried out, and fail it. So nothing is closed during
 * the drain but by an answer that says so (`Connection: close`, RFC 9112 §9.6). What is still open and idle when it is
 * over belongs to somebody who had the time to notice, and sends nothing any more.
 */
export function createDrain(seconds: number): Drain {
  let begun = false
  return {
    seconds,
    isStopping: () => begun,
    begin(servers) {
      begun = true
      // Added only now: a server that is not stopping pays nothing for it.
      for (const server of servers) server.prependListener('request', endConnection)
    },
  }
}

function endConnection(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close')
}
