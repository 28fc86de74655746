/** The queue of finished spans. If the collector is unavailable, slow or full, spans are dropped. Memory stays bounded, and requests do not wait. */
import { TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'

export type ExportOptions = {
  url: string
  headers: Record<string, string>
  /** counts spans by their outcome */
  count(result: 'exported' | 'failed' | 'dropped', spans: number): void
  /** the first failure after a success, or the first success after a failure */
  noteChange(state: 'failing' | 'works again'): void
  /** milliseconds between two exports; one second unless set */
  delay?: number
}

export const QUEUE_AT_MOST = 4096
const BATCH_AT_MOST = 512
/** Milliseconds for one batch, with its retries. */
const EXPORT_TIMEOUT = 3000
/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`, on which this project does not depend directly. */
const SUCCESS = 0

export function createBoundedExport(options: ExportOptions): SpanProcessor {
  const { url, headers, count, noteChange, delay = 1000 } = options
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_TIMEOUT })
  let waiting = 0
  let failing = false

  const counted: SpanExporter = {
    export(spans, report) {
      waiting -= spans.length
      exporter.export(spans, (result) => {
        const failed = (result.code as number) !== SUCCESS
        count(failed ? 'failed' : 'exported', spans.length)
        if (failed !== failing) noteChange(failed ? 'failing' : 'works again')
        failing = failed
        report(result)
      })
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
  const batches = new BatchSpanProcessor({
    exporter: counted,
    maxQueueSize: QUEUE_AT_MOST,
    maxExportBatchSize: BATCH_AT_MOST,
    scheduledDelayMillis: delay,
    exportTimeoutMillis: EXPORT_TIMEOUT + 500,
  })
  return {
    onStart: (span, parent) => batches.onStart(span, parent),
    // The library does not count the spans that find its queue full, so the bound is applied here.
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      if (waiting >= QUEUE_AT_MOST) return count('dropped', 1)
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}
