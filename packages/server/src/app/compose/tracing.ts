/** Traces, if the settings name a collector. Otherwise no code of OpenTelemetry is loaded. */
import type { Settings } from '../../config/settings.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import { version } from './version.ts'

type TraceSettings = Pick<
  Settings<'login-server'>,
  'otlpEndpoint' | 'otlpTracesEndpoint' | 'otlpHeaders' | 'traceRatio' | 'serviceName'
>

type TracingRuntime = { logger: Logger; metrics?: Pick<Metrics, 'countSpans' | 'expectSpans'> | undefined }

export async function tracingFor(
  settings: TraceSettings,
  usualName: 'grantor' | 'grantor-login',
  { logger, metrics }: TracingRuntime,
): Promise<Tracing | undefined> {
  const url = collectorOf(settings)
  if (url === undefined) return undefined
  metrics?.expectSpans()
  const { openTracing } = await import('../../observability/traces/open-tracing.ts')
  return openTracing({
    url,
    headers: headersOf(settings.otlpHeaders ?? ''),
    ratio: settings.traceRatio,
    serviceName: settings.serviceName ?? usualName,
    serviceVersion: version(),
    count: (result, spans) => metrics?.countSpans(result, spans),
    noteChange(state) {
      if (state === 'failing') logger.warn('the collector does not accept traces; they are lost, requests are not affected')
      else logger.info('the collector accepts traces again')
    },
  })
}

function collectorOf({ otlpEndpoint, otlpTracesEndpoint }: TraceSettings): string | undefined {
  if (otlpTracesEndpoint !== undefined) return otlpTracesEndpoint
  return otlpEndpoint === undefined ? undefined : `${otlpEndpoint.replace(/\/$/, '')}/v1/traces`
}

/** `readSettings` has checked the syntax. */
function headersOf(text: string): Record<string, string> {
  const items = text.split(',').filter((item) => item.trim() !== '')
  return Object.fromEntries(
    items.map((item) => {
      const [name = '', ...value] = item.trim().split('=')
      return [name, decodeURIComponent(value.join('='))]
    }),
  )
}
