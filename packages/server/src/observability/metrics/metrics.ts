/** Metrics of the running process in Prometheus' text format, in a registry of their own. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { createServiceMetrics, type ServiceMetrics } from './service-metrics.ts'
import type { MetricsSnapshot } from './summed-metrics.ts'

export type RequestObservation = {
  route: string
  method: string
  status: number
  seconds: number
  /** true if the response is 503 because the server of a client is away */
  isClientAway: boolean
}

export type Metrics = ServiceMetrics & {
  observeRequest(request: RequestObservation): void
  /** The server has this route: its series that alerts read exist from now on. */
  expectRoute(route: Pick<RequestObservation, 'route' | 'method'>): void
  /** `error` is the code that the client received (`invalid_grant`), `reason` the internal reason (`code_replayed`). */
  countRefusal(error: string, reason: string): void
  /** rows of one table that had expired or ended and were deleted */
  countSwept(kind: string, rows: number): void
  /** lines of the audit trail that are in the log only */
  countLostAuditLines(lines: number): void
  /** lines of the audit trail that this process has stored outside of the chain, and that are not in the chain yet */
  setAuditLinesWaiting(lines: number): void
  /** The machines of the database that do not answer at the moment, by host and port. */
  setMachinesAway(names: readonly string[]): void
  /** all metrics, in the text format */
  render(): Promise<string>
  /** all metrics, for `summed-metrics.ts` in another process */
  snapshot(): Promise<MetricsSnapshot>
  contentType: string
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Of the routes with an objective for their time. */
const EXPECTED_STATUSES: Readonly<Record<string, readonly number[]>> = {
  'GET /oauth/authorize': [200, 302, 400, 429, 500, 503],
  'POST /oauth/authorize': [303, 400, 429, 500, 503],
  'POST /oauth/token': [200, 400, 401, 429, 500, 503],
}

function resultOf({ status, isClientAway }: RequestObservation): 'ok' | 'failed' | 'client_unavailable' {
  if (status < 500) return 'ok'
  return isClientAway ? 'client_unavailable' : 'failed'
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const refusals = new Counter({
    name: 'grantor_refusals_total',
    help: 'Refused requests, by the error that the client received and the internal reason.',
    labelNames: ['error', 'reason'] as const,
    registers: [registry],
  })
  // What alerts read begins at 0: a series that begins with its first event has no increase for this event.
  refusals.inc({ error: 'temporarily_unavailable', reason: 'store_unavailable' }, 0)
  const swept = new Counter({
    name: 'grantor_swept_rows_total',
    help: 'Rows that had expired or ended and were deleted from the database, by table.',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  const lostLines = new Counter({
    name: 'grantor_audit_lines_lost_total',
    help: 'Lines of the audit trail that could not be stored in time. They are in the log only.',
    registers: [registry],
  })
  const waitingLines = new Gauge({
    name: 'grantor_audit_lines_waiting',
    help: 'Lines of the audit trail that wait in the database outside of the chain, because its coordinator is unavailable.',
    registers: [registry],
  })
  const away = new Gauge({
    name: 'grantor_database_machines_away',
    help: 'Worker processes that get no answer from a machine of the database cluster, by machine.',
    labelNames: ['machine'] as const,
    registers: [registry],
  })
  return {
    ...createServiceMetrics(registry),
    ...createRequestMetrics(registry),
    countRefusal: (error, reason) => refusals.inc({ error, reason }),
    countSwept: (kind, rows) => swept.inc({ kind }, rows),
    countLostAuditLines: (lines) => lostLines.inc(lines),
    setAuditLinesWaiting: (lines) => waitingLines.set(lines),
    setMachinesAway(names) {
      away.reset()
      for (const machine of names) away.set({ machine }, 1)
    },
    render: () => registry.metrics(),
    snapshot: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  }
}

function createRequestMetrics(registry: Registry): Pick<Metrics, 'observeRequest' | 'expectRoute'> {
  const seconds = new Histogram({
    name: 'grantor_request_duration_seconds',
    help: 'Time from a request to its response, by route, method and status.',
    labelNames: ['route', 'method', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [registry],
  })
  const responses = new Counter({
    name: 'grantor_responses_total',
    help: 'Responses without health checks: ok, failed (5xx), or client_unavailable (503 because the server of a client is away).',
    labelNames: ['result'] as const,
    registers: [registry],
  })
  for (const result of ['ok', 'failed', 'client_unavailable']) responses.inc({ result }, 0)
  return {
    // All labels come from closed sets (route patterns, known methods, status codes), so that a caller cannot fill the
    // memory.
    observeRequest(request) {
      const { route, method, status, seconds: took } = request
      seconds.observe({ route, method: METHODS.has(method) ? method : 'other', status }, took)
      if (!route.startsWith('/health/')) responses.inc({ result: resultOf(request) })
    },
    expectRoute({ route, method }) {
      for (const status of EXPECTED_STATUSES[`${method} ${route}`] ?? []) seconds.zero({ route, method, status })
    },
  }
}
