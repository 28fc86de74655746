/** The state of the service: what needs attention, the last hour, and the nodes. */

import { type AuditEventName, auditEvents } from '../../domain/model/audit-events.ts'
import { isClientId } from '../../domain/model/client-id.ts'
import type { NodeReport, RefusedSender } from '../../domain/model/node-store.ts'
import { ATTENTION_KINDS, type Attention, attentionOf, isSilent } from '../../domain/nodes/attention.ts'
import { readEndingSecrets } from '../../domain/nodes/ending-secrets.ts'
import { type ServiceMinute, sumMinutes, sumRefusals } from '../../domain/nodes/service-hour.ts'
import { percentilesOf } from '../../observability/metrics/latencies.ts'
import type { Shown } from '../members/member.ts'
import { Type } from './json-schema.ts'
import type { RecordKind, Subject } from './operation.ts'
import { fieldsOf, nameSchema, textOrNull, time } from './schemas.ts'
import type { Service } from './service.ts'
import { operationsOn } from './standard.ts'
import { formatCount, number, utc } from './words.ts'

const seconds = Type.Union([Type.Number(), Type.Null()], { description: 'Seconds; null without a request.' })

const minuteFields = fieldsOf<ServiceMinute & ReturnType<typeof percentilesOf>>()({
  at: [time, ({ minute }) => minute * 60],
  requests: [
    Type.Union([Type.Integer(), Type.Null()], { description: 'Null before the service started.' }),
    ({ requests }) => requests,
  ],
  answers_5xx: [Type.Integer(), ({ faults }) => faults],
  answers_429: [Type.Integer(), ({ limited }) => limited],
  p50: [seconds, ({ p50 }) => p50],
  p95: [seconds, ({ p95 }) => p95],
  p99: [seconds, ({ p99 }) => p99],
})

type NamedSender = RefusedSender & { name: string }
const senderFields = fieldsOf<NamedSender>()({
  network: [Type.String({ description: 'The first part of the address.' }), ({ network }) => network],
  client_id: [textOrNull, ({ client }) => (isClientId(client) ? client : null)],
  client: [
    Type.String({ description: 'The name, or `unknown`, or `not registered`.' }),
    ({ client, name }) => name || (client === 'unregistered' ? 'not registered' : 'unknown'),
  ],
  reason: [Type.String(), ({ reason }) => reason],
  requests: [Type.Integer(), ({ count }) => count],
})

type NodeNow = { node: NodeReport; at: number }
const nodeFields = fieldsOf<NodeNow>()({
  node_id: [Type.String(), ({ node }) => node.id],
  machine: [Type.String(), ({ node }) => node.machine],
  process_id: [Type.Integer(), ({ node }) => node.processId],
  version: [Type.String(), ({ node }) => node.version],
  state: [
    Type.Enum(['running', 'silent', 'stopped'], { description: '`silent`: the process ended without a signal, or hangs.' }),
    ({ node, at }) => stateOf(node, at),
  ],
  started_at: [time, ({ node }) => node.startedAt],
  reported_at: [time, ({ node }) => node.at],
  store_milliseconds: [Type.Number(), ({ node }) => node.storeTime],
  lag_milliseconds: [Type.Number(), ({ node }) => node.lag],
  feed_readers: [Type.Integer(), ({ node }) => node.feedReaders],
  feed_lag_seconds: [Type.Number(), ({ node }) => node.feedLag],
})

type NamedAttention = Attention & { name: string }
const attentionFields = fieldsOf<NamedAttention>()({
  kind: [Type.Enum([...ATTENTION_KINDS]), ({ kind }) => kind],
  subject: [Type.String({ description: 'The event of an alarm, the id of a record, or a machine.' }), ({ subject }) => subject],
  text: [Type.String(), wordsOf],
  at: [time, ({ at }) => at],
  until: [Type.Union([time, Type.Null()], { description: 'Null if it lasts.' }), ({ until }) => until],
})

type Status = {
  attention: NamedAttention[]
  minutes: ServiceMinute[]
  senders: NamedSender[]
  others: number
  nodes: NodeNow[]
  at: number
}

const fields = fieldsOf<Status>()({
  attention: [
    Type.Array(Type.Object(attentionFields.schemas), { description: 'What lasts first, then the latest of the last 24 hours.' }),
    ({ attention }) => attention.map(attentionFields.read),
  ],
  minutes: [
    Type.Array(Type.Object(minuteFields.schemas), { description: 'The last hour of all nodes, the oldest minute first.' }),
    ({ minutes }) => minutes.map((minute) => minuteFields.read({ ...minute, ...percentilesOf(minute.latencies) })),
  ],
  refusals: [
    Type.Array(Type.Object(senderFields.schemas), {
      description: 'Refused requests of the last hour, the most frequent senders.',
    }),
    ({ senders }) => senders.map(senderFields.read),
  ],
  other_refusals: [Type.Integer({ description: 'Refused requests of other senders.' }), ({ others }) => others],
  nodes: [
    Type.Array(Type.Object(nodeFields.schemas), {
      description: 'The processes that reported in the last hour. A worker is one of them.',
    }),
    ({ nodes }) => nodes.map(nodeFields.read),
  ],
})

export type StatusRecord = ReturnType<typeof fields.read>

const statusKind: RecordKind = {
  name: 'status',
  noun: 'status',
  words: 'What all nodes do, and what needs attention',
  schemas: [nameSchema('Status', Type.Object(fields.schemas))],
  scope: 'admin.read',
  settings: 'grants',
  idName: '',
  empty: 'There is no status.',
  displays: [
    { label: 'attention', print: 'attention', shown: (record) => attentionLines(record as StatusRecord) },
    { label: 'last hour', print: 'last hour', shown: (record) => hourLines(record as StatusRecord) },
    { label: 'refused', print: 'refused', shown: (record) => refusalLines(record as StatusRecord) },
    { label: 'nodes', print: 'nodes', shown: (record) => nodeLines(record as StatusRecord) },
  ],
}

export const getStatus = operationsOn(statusKind).get<StatusRecord>({
  id: 'getStatus',
  path: '',
  summary: 'Reads what needs attention, the last hour of all nodes, the refused requests, and the nodes.',
  description: 'Each process stores its report once a minute. After an outage of the store, it stores what it counted meanwhile.',
  answers: { done: 'The status.' },
  command: { examples: ['', '--json'] },
  run: async ({ service }) => ({ output: fields.read(await readStatus(service)) }),
})

export const status: Subject = { ...statusKind, operations: [getStatus] }

async function readStatus({ store, now, ownReport, nameOfClient }: Service): Promise<Status> {
  const at = now()
  const [stored, incidents, webhooks, secrets] = await Promise.all([
    store.nodes.listNodes(),
    store.lists.readList('incidents'),
    store.webhooks.listWebhooks(),
    readEndingSecrets(store, at),
  ])
  const own = ownReport()
  const nodes = [...(own ? [own] : []), ...stored.filter((node) => node.id !== own?.id && node.at > at - 3600)]
  const { senders, others } = sumRefusals(nodes)
  const hosts = new Map(webhooks.map(({ id, url }) => [id, new URL(url).host]))
  const nameOf = async (id: string): Promise<string> => hosts.get(id) ?? (isClientId(id) ? nameOfClient(id) : '')
  const attention = attentionOf({ at, nodes, incidents, webhooks, secrets })
  return {
    at,
    attention: await Promise.all(attention.map(async (item) => ({ ...item, name: await nameOf(item.subject) }))),
    minutes: sumMinutes(nodes, at),
    senders: await Promise.all(senders.map(async (sender) => ({ ...sender, name: await nameOf(sender.client) }))),
    others,
    nodes: nodes.map((node) => ({ node, at })).sort(byMachine),
  }
}

function byMachine({ node: one }: NodeNow, { node: other }: NodeNow): number {
  return one.machine.localeCompare(other.machine) || one.startedAt - other.startedAt || one.processId - other.processId
}

function stateOf(node: NodeReport, at: number): 'running' | 'silent' | 'stopped' {
  if (node.stoppedAt !== null) return 'stopped'
  return isSilent(node, at) ? 'silent' : 'running'
}

function wordsOf({ kind, subject, name, at, until, count }: NamedAttention): string {
  switch (kind) {
    case 'store_away':
      return `The store was away for ${formatCount((until ?? at) - at, 'second')}.`
    case 'alarm':
      return `${meaningOf(subject)}${count > 1 ? ` ${number(count)} times.` : ''}`
    case 'node_silent':
      return `${count === 1 ? 'A process' : `${number(count)} processes`} of ${subject} ended without a signal, or ${count === 1 ? 'hangs' : 'hang'}.`
    case 'machine_away':
      return `The database machine ${subject} does not answer.`
    case 'webhook_paused':
      return `The webhook to ${name} is paused.`
    case 'webhook_failing':
      return `The webhook to ${name} fails.`
    case 'feed_late':
      return `A resource server reads endings ${formatCount(count, 'second')} late, at ${subject}.`
    case 'key_due':
      return 'A key is overdue: it was not replaced.'
    case 'certificate_ends':
      return 'The TLS certificate ends, and was not renewed.'
    case 'secret_ends':
      return `The previous secret of ${name || subject} ends.`
  }
}

function meaningOf(event: string): string {
  return auditEvents[event as AuditEventName]?.means ?? `Alarm: ${event}.`
}

function attentionLines({ attention }: StatusRecord): Shown {
  const spans = attention.map(({ at, until, text }) => `${utc(at)}${until === null ? '' : ` to ${utc(until)}`}  ${text}`)
  return { lines: spans, none: 'nothing' }
}

function hourLines({ minutes }: StatusRecord): Shown {
  const sumOf = (name: 'requests' | 'answers_5xx' | 'answers_429') =>
    number(minutes.reduce((sum, minute) => sum + (minute[name] ?? 0), 0))
  return `${sumOf('requests')} requests, ${sumOf('answers_5xx')} answers 5xx, ${sumOf('answers_429')} answers 429`
}

function refusalLines({ refusals, other_refusals: others }: StatusRecord): Shown {
  const lines = refusals.map(({ network, client, reason, requests }) => `${network}  ${client}  ${reason}  ${number(requests)}`)
  return { lines: [...lines, ...(others > 0 ? [`other senders  ${number(others)}`] : [])], none: 'none' }
}

function nodeLines({ nodes }: StatusRecord): Shown {
  const lines = nodes.map(
    ({ machine, process_id: pid, version, state, started_at: startedAt, ...times }) =>
      `${machine}  ${pid}  ${version}  ${state}  started ${utc(startedAt)}  store ${times.store_milliseconds} ms  lag ${times.lag_milliseconds} ms`,
  )
  return { lines: lines, none: 'none' }
}
