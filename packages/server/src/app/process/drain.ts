/** The time between the stop signal and the end of listening, in which a load balancer redirects requests to other nodes. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type Drain = {
  /** how long requests are still accepted */
  seconds: number
  /** whether the drain has begun: then readiness ends, but requests are served */
  isStopping(): boolean
  /** From now on every response of these servers closes its connection. */
  begin(servers: readonly Server[]): void
}

/**
 * A server must not close a connection on which a load balancer is about to send a request: the balancer could not determine whether the request
 * was carried out, and would fail it. So during the drain only a response with `Connection: close` (RFC 9112 §9.6) closes a connection.
 * Connections that are still open and idle after the drain belong to clients that had time to notice and will send nothing more.
 */
export function createDrain(seconds: number): Drain {
  let begun = false
  return {
    seconds,
    isStopping: () => begun,
    begin(servers) {
      begun = true
      // Added only now, so that it costs nothing before the drain.
      for (const server of servers) server.prependListener('request', endConnection)
    },
  }
}

function endConnection(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close')
}
