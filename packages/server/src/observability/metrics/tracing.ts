/**
 * Traces, as the servers and the composition use them. `packages/server/src/observability/traces` implements this type with OpenTelemetry. If no collector is
 * configured, there is no tracing: callers then do without it.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Facts of a span: names, numbers and words from closed sets. Never a secret, a query, a body or an address of a wallet. */
export type SpanFacts = Readonly<Record<string, string | number>>

export type SpanNote = {
  set(facts: SpanFacts): void
  /** the call failed; `type` is a word from a closed set */
  fail(type: string): void
}

export type Tracing = {
  /** Adds the span of each request to a server, except for health checks. Continues the `traceparent` of the request. */
  traceRequests(server: FastifyInstance): void
  /** Adds the reason of a refusal to the span of the request. */
  noteRefusal(request: FastifyRequest, reason: string): void
  /** Runs a call in a span below the current one. Without a current span that is recorded, the call runs alone. */
  trace<T>(name: string, facts: SpanFacts, call: (note: SpanNote) => Promise<T>): Promise<T>
  /** Whether a call that starts now would have a span. */
  isTraced(): boolean
  /** The header `traceparent` for a request to another server; empty without a current span. */
  outgoingHeaders(): Record<string, string>
  /** Sends what is in the queue, for one second at most. */
  stop(): Promise<void>
}
