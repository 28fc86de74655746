/**
 * What the service did: sign-ins, consents, grants, tokens, endings, notices, alarms. By client, in bounded memory.
 *
 * The caller passes an id as `client` only if an operator registered that client. All other clients share one value, because
 * any caller can present a new id.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { DRAW_RESULTS, type DrawResult } from './draw-results.ts'

/** Values of the label `client`. Clients that are counted first beyond this number share the value `other`. */
export const CLIENTS_AT_MOST = 200

const SPAN_RESULTS = ['exported', 'failed', 'dropped'] as const
type SpanResult = (typeof SPAN_RESULTS)[number]

export type KeyTimes = {
  kind: string
  /** epoch seconds */
  createdAt: number
  /** epoch seconds from which the next key of this kind is overdue */
  dueAt: number
}

/** The feed of endings. Ages and delays are in seconds; null while no reader is there. */
export type FeedState = {
  entries: number
  bytes: number
  readers: number
  age: number | null
  slowestAge: number
  /** from the latest ending to the moment at which this node read the ending */
  delay: number
}

export type ServiceMetrics = {
  countTokens(grantType: string, client: string): void
  countSignIn(method: string, client: string): void
  /** `result` is `signed`, `confirmed` or `declined` */
  countConsent(result: string, client: string): void
  countGrant(client: string): void
  countDraw(result: DrawResult): void
  countEnding(ending: { event: string; reason: string; client: string }): void
  countNotice(result: 'delivered' | 'lost'): void
  countAlarm(): void
  /** `outcome` is `yes`, `no`, `fewer`, or the reason of a failure */
  countHookQuestion(occasion: string, outcome: string): void
  /** The service has a hook: the series of its questions exist from now on. */
  expectHookQuestions(occasions: readonly string[], outcomes: readonly string[]): void
  observeHookCall(seconds: number): void
  countBackgroundRun(task: string, result: 'done' | 'failed'): void
  /** The process has this task: its series exist from now on. */
  expectTask(task: string): void
  /** spans that were exported, that the collector did not take, or that found the queue full */
  countSpans(result: SpanResult, spans: number): void
  /** The process exports traces: the series of its spans exist from now on. */
  expectSpans(): void
  /** `read` returns the youngest key of each kind; it is called for each scrape */
  watchKeys(read: () => KeyTimes[]): void
  /** `read` is called for each scrape */
  watchFeed(read: () => FeedState): void
  /** `read` returns for how many seconds lines of the audit trail have had no signed head; it is called for each scrape */
  watchAuditHead(read: () => number): void
}

export function createServiceMetrics(registry: Registry): ServiceMetrics {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const tokens = counter('grantor_tokens_issued_total', 'Token responses, by grant type and client.', 'grant_type', 'client')
  const signIns = counter('grantor_sign_ins_total', 'Sessions that began, by method and client.', 'method', 'client')
  const consents = counter('grantor_consents_total', 'Answers of users to requests of apps.', 'result', 'client')
  const grants = counter('grantor_grants_created_total', 'Grants that a code created, by client.', 'client')
  const draws = counter('grantor_draws_total', 'Requests of APIs to draw from a limit or to give back, by result.', 'result')
  const endings = counter(
    'grantor_endings_total',
    'Events that ended grants, sessions or tokens, by reason and client.',
    'event',
    'reason',
    'client',
  )
  const bounded = boundedClients((client) => {
    // The endings that an alert reads.
    for (const reason of ['code_replayed', 'refresh_replayed']) endings.inc({ event: 'grant_ended', reason, client }, 0)
  })
  const notices = counter('grantor_logout_notices_total', 'Logout notices that were delivered or lost.', 'result')
  const alarms = counter('grantor_alarms_total', 'Lines of the log with the message `alarm`, which an operator must look at.')
  const runs = counter('grantor_background_runs_total', 'Runs of the tasks beside the requests.', 'task', 'result')
  const spans = counter('grantor_trace_spans_total', 'Spans that were exported, refused or dropped.', 'result')
  // A series that begins at 1 has no increase, so an alert would miss the first event.
  for (const result of ['delivered', 'lost']) notices.inc({ result }, 0)
  for (const result of DRAW_RESULTS) draws.inc({ result }, 0)
  return {
    countTokens: (grant_type, client) => tokens.inc({ grant_type, client: bounded(client) }),
    countSignIn: (method, client) => signIns.inc({ method, client: bounded(client) }),
    countConsent: (result, client) => consents.inc({ result, client: bounded(client) }),
    countGrant: (client) => grants.inc({ client: bounded(client) }),
    countDraw: (result) => draws.inc({ result }),
    countEnding: ({ event, reason, client }) => endings.inc({ event, reason, client: bounded(client) }),
    countNotice: (result) => notices.inc({ result }),
    countAlarm: () => alarms.inc(),
    ...createHookMetrics(registry),
    countBackgroundRun: (task, result) => runs.inc({ task, result }),
    expectTask(task) {
      for (const result of ['done', 'failed']) runs.inc({ task, result }, 0)
    },
    countSpans: (result, count) => spans.inc({ result }, count),
    expectSpans() {
      for (const result of SPAN_RESULTS) spans.inc({ result }, 0)
    },
    watchKeys: (read) => watchKeys(registry, read),
    watchFeed: (read) => watchFeed(registry, read),
    watchAuditHead: (read) => watchAuditHead(registry, read),
  }
}

function createHookMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'countHookQuestion' | 'expectHookQuestions' | 'observeHookCall'> {
  const registers = [registry]
  const questions = new Counter({
    name: 'grantor_hook_questions_total',
    help: 'Questions to the hook, by occasion and outcome.',
    labelNames: ['occasion', 'outcome'] as const,
    registers,
  })
  const hookCalls = new Histogram({
    name: 'grantor_hook_call_duration_seconds',
    help: 'Time from a call of the hook to its response, or to its failure.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  return {
    countHookQuestion: (occasion, outcome) => questions.inc({ occasion, outcome }),
    expectHookQuestions(occasions, outcomes) {
      for (const occasion of occasions) for (const outcome of outcomes) questions.inc({ occasion, outcome }, 0)
    },
    observeHookCall: (seconds) => hookCalls.observe(seconds),
  }
}

/** All workers have the same keys, so the page of several workers has the smallest value, not the sum. */
function watchKeys(registry: Registry, read: () => KeyTimes[]): void {
  const options = { labelNames: ['kind'] as const, registers: [registry], aggregator: 'min' as const }
  const createdAt = new Gauge({
    ...options,
    name: 'grantor_key_created_timestamp_seconds',
    help: 'When the youngest key was made, by kind.',
    collect() {
      for (const key of read()) {
        createdAt.set({ kind: key.kind }, key.createdAt)
        dueAt.set({ kind: key.kind }, key.dueAt)
      }
    },
  })
  const dueAt = new Gauge({
    ...options,
    name: 'grantor_key_due_timestamp_seconds',
    help: 'When the youngest key must be replaced, by kind. A later key moves this time.',
  })
}

/** The values of several workers are added, but for ages: there the largest counts. */
function watchFeed(registry: Registry, read: () => FeedState): void {
  const gauge = (name: string, help: string, aggregator: 'sum' | 'max') =>
    new Gauge({ name, help, aggregator, registers: [registry] })
  const readers = new Gauge({
    name: 'grantor_feed_readers',
    help: 'Open connections of readers of the feed of endings.',
    registers: [registry],
    collect() {
      const state = read()
      readers.set(state.readers)
      entries.set(state.entries)
      bytes.set(state.bytes)
      age.set(state.age ?? 0)
      slowest.set(state.slowestAge)
      delay.set(state.delay)
    },
  })
  const entries = gauge('grantor_feed_entries', 'Entries of the feed of endings in memory.', 'sum')
  const bytes = gauge('grantor_feed_bytes', 'Memory of these entries.', 'sum')
  const age = gauge('grantor_feed_age_seconds', 'Time since the feed was complete; 0 without readers.', 'max')
  const slowest = gauge('grantor_feed_slowest_reader_age_seconds', 'The age of the feed at the slowest reader.', 'max')
  const delay = gauge('grantor_feed_delay_seconds', 'Time from the latest ending until this node read it.', 'max')
}

/** All workers have the same trail, and each notices a signed head within a minute. */
function watchAuditHead(registry: Registry, read: () => number): void {
  const age = new Gauge({
    name: 'grantor_audit_head_age_seconds',
    help: 'Time since the last signed head of the audit trail; 0 if the head covers all lines.',
    registers: [registry],
    aggregator: 'max',
    collect() {
      age.set(read())
    },
  })
}

/** `begin` is called with each value of the label once. */
function boundedClients(begin: (client: string) => void): (client: string) => string {
  begin('other')
  const seen = new Set<string>()
  return (client) => {
    if (seen.has(client)) return client
    if (seen.size >= CLIENTS_AT_MOST) return 'other'
    seen.add(client)
    begin(client)
    return client
  }
}
