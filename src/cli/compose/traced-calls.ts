/** Spans for the calls to clients and chains, with the method or the host, and the failure. No span has a path, because a path may contain a secret. */
import type { CallWith } from '../../chain/json-rpc.ts'
import type { FetchFromClient } from '../../domain/model/deps.ts'
import type { Tracing } from '../../ops/metrics/tracing.ts'

/** Requests to clients have no `traceparent`. It would show another party which requests belong together. */
export function traceFetch(fetchFromClient: FetchFromClient, tracing: Tracing | undefined): FetchFromClient {
  if (!tracing) return fetchFromClient
  return (call) =>
    tracing.trace('call of a client', { 'server.address': hostOf(call.url) }, async (note) => {
      const answer = await fetchFromClient(call)
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

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : 'invalid'
}
