/** What an operator must look at. */
import type { Incident, NodeReport } from '../model/node-store.ts'
import type { StoredWebhook } from '../model/webhook-store.ts'
import { STORE_AWAY } from './incidents.ts'

export const ATTENTION_KINDS = [
  'store_away',
  'alarm',
  'node_silent',
  'machine_away',
  'webhook_paused',
  'webhook_failing',
  'feed_late',
  'key_due',
  'certificate_ends',
  'secret_ends',
] as const

export type Attention = {
  kind: (typeof ATTENTION_KINDS)[number]
  /** the event of an alarm, the id of a webhook or a client, a machine, or a process; empty if there is only one */
  subject: string
  /** the beginning, or the end of what will end; epoch seconds */
  at: number
  /** null for what still lasts */
  until: number | null
  count: number
}

export type AttentionFacts = {
  at: number
  nodes: readonly NodeReport[]
  incidents: readonly Incident[]
  webhooks: readonly Pick<StoredWebhook, 'id' | 'failingSince' | 'pausedAt'>[]
  /** secrets that will expire */
  secrets: readonly { clientId: string; expiresAt: number }[]
}

const DAY = 86_400
/** Three reports. After an outage of the store, a process reports within seconds. */
const SILENT_AFTER = 180
/** A process replaces a key within a minute of this time, so a day later the replacement fails. */
const KEY_LATE_AFTER = DAY
const CERTIFICATE_SOON = 7 * DAY
/** The alert GrantorFeedBehind has the same bound. */
const FEED_LATE_AFTER = 3
const ITEMS_AT_MOST = 50

/** A process that ended without a signal, or hangs. */
export function isSilent({ at, stoppedAt }: Pick<NodeReport, 'at' | 'stoppedAt'>, now: number): boolean {
  return stoppedAt === null && now - at > SILENT_AFTER
}

/** What lasts comes first, then the latest. */
export function attentionOf({ at, nodes, incidents, webhooks, secrets }: AttentionFacts): Attention[] {
  const running = nodes.filter((node) => node.stoppedAt === null && !isSilent(node, at))
  const items = [
    ...incidents.filter(({ until }) => until > at - DAY).map(incidentItem),
    ...silentMachines(nodes.filter((node) => isSilent(node, at))),
    ...[...new Set(running.flatMap(({ machinesAway }) => machinesAway))].map((name) => lasting('machine_away', at, name)),
    ...webhooks.flatMap(webhookItems),
    ...running.filter(({ feedLag }) => feedLag > FEED_LATE_AFTER).map(feedItem),
    ...earliest(running.map(({ keyDueAt }) => keyDueAt))
      .filter((dueAt) => at - dueAt > KEY_LATE_AFTER)
      .map((dueAt) => lasting('key_due', dueAt)),
    ...earliest(running.map(({ certificateEndsAt }) => certificateEndsAt))
      .filter((endsAt) => endsAt - at < CERTIFICATE_SOON)
      .map((endsAt) => lasting('certificate_ends', endsAt)),
    ...secrets.map(({ clientId, expiresAt }) => lasting('secret_ends', expiresAt, clientId)),
  ]
  return items.sort(lastingFirst).slice(0, ITEMS_AT_MOST)
}

function nameOfNode({ machine, processId }: Pick<NodeReport, 'machine' | 'processId'>): string {
  return `${machine}, process ${processId}`
}

function lasting(kind: Attention['kind'], at: number, subject = ''): Attention {
  return { kind, subject, at, until: null, count: 1 }
}

/** A crash of many processes in a row is one item. */
function silentMachines(silent: readonly NodeReport[]): Attention[] {
  return [...new Set(silent.map(({ machine }) => machine))].map((machine) => {
    const reports = silent.filter((node) => node.machine === machine)
    return { ...lasting('node_silent', Math.max(...reports.map(({ at }) => at)), machine), count: reports.length }
  })
}

function incidentItem({ kind, from, until, count }: Incident): Attention {
  const isOutage = kind === STORE_AWAY
  return { kind: isOutage ? 'store_away' : 'alarm', subject: isOutage ? '' : kind, at: from, until, count }
}

function webhookItems({ id, failingSince, pausedAt }: AttentionFacts['webhooks'][number]): Attention[] {
  if (pausedAt !== null) return [lasting('webhook_paused', pausedAt, id)]
  return failingSince === null ? [] : [lasting('webhook_failing', failingSince, id)]
}

function feedItem(node: NodeReport): Attention {
  return { ...lasting('feed_late', node.at, nameOfNode(node)), count: Math.round(node.feedLag) }
}

function earliest(times: readonly (number | null)[]): number[] {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? [] : [Math.min(...known)]
}

function lastingFirst(one: Attention, other: Attention): number {
  return Number(other.until === null) - Number(one.until === null) || other.at - one.at
}
