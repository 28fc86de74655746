/** Traces with OpenTelemetry. Imported only if a collector is configured. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SpanFacts, SpanNote, Tracing } from '../metrics/tracing.ts'
import { createBoundedExport, type ExportOptions } from './bounded-export.ts'

export type TracingOptions = ExportOptions & {
  /** share of the requests without a `traceparent` that are traced */
  ratio: number
  serviceName: string
  serviceVersion: string
}

/** Milliseconds for which `stop` waits for the collector. */
const STOP_WITHIN = 1000
/** In characters. Attributes are names and words from closed sets, which are shorter. */
const VALUE_AT_MOST = 256
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** The tracer, the span of each request, and the span in which a call runs. */
type Spans = { tracer: Tracer; requests: WeakMap<FastifyRequest, Span>; current: AsyncLocalStorage<Span> }

export function openTracing(options: TracingOptions): Tracing {
  const provider = createProvider(options)
  const tracer = provider.getTracer('grantor')
  const current = new AsyncLocalStorage<Span>()
  const requests = new WeakMap<FastifyRequest, Span>()
  return {
    traceRequests: (server) => addRequestSpans(server, { tracer, requests, current }),
    noteRefusal: (request, reason) => void requests.get(request)?.setAttribute('grantor.refusal', reason),
    isTraced: () => current.getStore()?.isRecording() ?? false,
    async trace(name, facts, call) {
      const parent = current.getStore()
      if (!parent?.isRecording()) return call(UNTRACED)
      const under = trace.setSpan(ROOT_CONTEXT, parent)
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: facts }, under)
      try {
        return await current.run(span, () => call(noteOn(span)))
      } catch (error) {
        // Only the name of the class: a message could contain what a caller sent.
        noteOn(span).fail(error instanceof Error ? error.name : 'unknown')
        throw error
      } finally {
        span.end()
      }
    },
    outgoingHeaders() {
      const span = current.getStore()?.spanContext()
      if (!span) return {}
      const flags = span.traceFlags.toString(16).padStart(2, '0')
      return { traceparent: `00-${span.traceId}-${span.spanId}-${flags}` }
    },
    async stop() {
      const stopped = provider.shutdown().catch(() => undefined)
      await Promise.race([stopped, pause(STOP_WITHIN, undefined, { ref: false })])
    },
  }
}

function addRequestSpans(server: FastifyInstance, spans: Spans): void {
  const { requests, current } = spans
  server.addHook('onRequest', (request, _reply, done) => {
    startRequest(request, spans)
    done()
  })
  server.addHook('preHandler', (request, _reply, done) => {
    const span = requests.get(request)
    if (span) current.run(span, done)
    else done()
  })
  server.addHook('onResponse', (request, { statusCode }, done) => {
    const span = requests.get(request)
    span?.setAttribute('http.response.status_code', statusCode)
    if (statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR })
    span?.end()
    done()
  })
}

function startRequest(request: FastifyRequest, { tracer, requests }: Spans): void {
  // The pattern of the route. The requested path may contain a secret.
  const route = request.routeOptions.url ?? 'unmatched'
  if (route.startsWith('/health/')) return
  const method = METHODS.has(request.method) ? request.method : '_OTHER'
  const attributes = { 'http.request.method': method, 'http.route': route, 'grantor.request_id': request.id }
  const parent = parentFrom(request.headers.traceparent)
  const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent)
  requests.set(request, span)
  if (!span.isRecording()) return
  // For the lines of the log that this request causes.
  request.traceId = span.spanContext().traceId
  request.log = request.log.child({ trace_id: request.traceId })
}

function createProvider({ serviceName, serviceVersion, ratio, ...exporting }: TracingOptions): TracerProvider {
  return new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': serviceName,
      'service.version': serviceVersion,
      'service.instance.id': randomUUID(),
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: VALUE_AT_MOST, attributeCountLimit: 32 },
    spanProcessors: [createBoundedExport(exporting)],
  })
}

/**
 * The context of a `traceparent` (W3C Trace Context §3.2). An invalid value starts a new trace, as the specification requires. The
 * header `tracestate` is not continued: it is text that the caller chose, and would reach the collector and the chain's endpoint.
 */
function parentFrom(header: unknown): Context {
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(String(header)) ?? []
  const isValid = version !== undefined && version !== 'ff' && !(version === '00' && rest !== undefined)
  if (!isValid || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** Later versions may append fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const UNTRACED: SpanNote = { set: () => undefined, fail: () => undefined }

function noteOn(span: Span): SpanNote {
  return {
    set: (facts: SpanFacts) => void span.setAttributes(facts),
    fail: (type) => void span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', type),
  }
}
