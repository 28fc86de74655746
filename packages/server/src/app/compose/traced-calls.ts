/** Spans for the calls to clients, to the hook and to chains, with the method or the host, and the failure. No span has a path, because a path may contain a secret. */

import type { ClientAnswer } from '../../domain/model/deps.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import type { CallWith } from '../../outbound/chain/json-rpc.ts'

/** Requests to clients have no `traceparent`. It would show another party which requests belong together. */
export function traceFetch<Call extends { url: string }>(
  fetch: (call: Call) => Promise<ClientAnswer>,
  tracing: Tracing | undefined,
  name = 'call of a client',
): (call: Call) => Promise<ClientAnswer> {
  if (!tracing) return fetch
  return (call) =>
    tracing.trace(name, { 'server.address': tracedHost(call.url) }, async (note) => {
      const answer = await fetch(call)
      if (answer.kind === 'unavailable') note.fail(answer.why)
      else note.set({ 'http.response.status_code': answer.status })
      return answer
    })
}

export function traceChainCalls(tracing: Tracing): CallWith {
  return ({ host, method }, call) =>
    tracing.trace(`chain ${method}`, { 'server.address': host, 'rpc.method': method }, async (note) => {
      const answer = await call(tracing.outgoingHeaders())
      if (answer.kind === 'unavailable') note.fail(answer.why.replace(`${host}: `, ''))
      return answer
    })
}

function tracedHost(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : 'invalid'
}
