/** The audit log and the audit trail of a server: each event is a line of the log, and some events are lines of the trail too. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { createBatchMover } from '../../domain/audit/batch-mover.ts'
import { createDeadlines, type Pause } from '../../domain/audit/deadlines.ts'
import { type AuditEntry, entryOfEvent } from '../../domain/audit/entry.ts'
import { EventCounts } from '../../domain/audit/event-counts.ts'
import { createLineDeletion } from '../../domain/audit/retention.ts'
import { createHeadSigner } from '../../domain/audit/signed-heads.ts'
import { type AuditTrail, createAuditTrail } from '../../domain/audit/trail.ts'
import { createWebhookSender, type WebhookSender } from '../../domain/audit/webhooks.ts'
import {
  type AuditEvent,
  type AuditEventName,
  type AwaitedEvent,
  auditEvents,
  isAwaited,
  type UnawaitedEvent,
} from '../../domain/model/audit-events.ts'
import { shortenIfWallet } from '../../domain/model/audit-text.ts'
import type { Deps } from '../../domain/model/deps.ts'
import type { Store } from '../../domain/model/store.ts'
import type { Limited } from '../../http/auth/service.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { LoggedEvent } from '../../observability/log/audit-log.ts'
import { currentNetwork, currentRequestId, noteClient } from '../../observability/log/request-log.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Admin } from '../../operators/api/admin.ts'
import { signAuditHead } from '../../protocol/keys/audit-head.ts'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { shortenAddress } from '../../protocol/wallet/address.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import type { Part } from '../process/background.ts'
import { hasOwnLine } from './line-limits.ts'
import { type ReceiverParts, receiverCheck, webhookCalls, webhookTests } from './webhook-calls.ts'

const pause: Pause = (milliseconds, signal) =>
  pauseFor(milliseconds, undefined, signal ? { signal } : { ref: false }).catch(() => undefined)

type AuditParts = {
  store: Pick<OpenedStore, 'audit' | 'placement' | 'cleaning'>
  now: () => number
  /** one line of the log */
  log: (event: LoggedEvent<AuditEventName>) => void
  metrics: Pick<Metrics, 'countLostAuditLines' | 'setAuditLinesWaiting'> | undefined
  limits: Pick<RateLimit<Limited>, 'count'>
}

type AuditPart = Part & {
  audit: Deps['audit']
  trail: AuditTrail
  /** writes the lines of events that were only counted; to be called once a minute */
  recordCounts(): void
}

export function composeAudit({ store, now, log, metrics, limits }: AuditParts): AuditPart {
  const noteLoss = () => void audit({ event: 'store_lost_a_write', details: { missing: 'audit line' } })
  const { trail, mover, settledOrOverdue } = composeTrail({ store, now, log, metrics }, noteLoss)
  const circumstances = () => ({ at: now(), requestId: currentRequestId(), network: currentNetwork() })
  const counts = new EventCounts()
  const recordCounts = (): void => {
    for (const event of counts.take(now())) {
      const entry = entryOfEvent(event, circumstances)
      log(logLineOf(event, entry))
      if (entry) trail.recordSoon(entry)
    }
  }

  /** Writes the event to the log. Returns the entry of its line; null if the event has no line of its own. */
  function logEvent(event: AuditEvent): AuditEntry | null {
    if (event.client_id !== undefined) noteClient(event.client_id)
    const entry = entryOfEvent(event, circumstances)
    if (entry && !hasOwnLine(limits, event, entry.network ?? '')) {
      counts.add(event, entry.at)
      if (!auditEvents[event.event].counted) log(logLineOf(event, null))
      return null
    }
    log(logLineOf(event, entry))
    return entry
  }

  function audit(event: AwaitedEvent): Promise<void>
  function audit(event: UnawaitedEvent): void
  function audit(event: AuditEvent): Promise<void> | void {
    const entry = logEvent(event)
    if (isAwaited(event)) return entry ? settledOrOverdue(trail.record(entry)) : Promise.resolve()
    if (entry) trail.recordSoon(entry)
  }

  return {
    trail: {
      ...trail,
      stop() {
        recordCounts()
        return trail.stop()
      },
    },
    recordCounts,
    audit,
    tasks: [{ name: 'moving waiting audit lines', every: 1, run: mover.move }],
  }
}

function composeTrail(parts: Omit<AuditParts, 'limits'>, noteLoss: () => void) {
  const { store, now, log, metrics } = parts
  const mover = composeMover(parts)
  const { succeedsInTime, settledOrOverdue, beforeNextAppend } = createDeadlines(pause)
  const trail = createAuditTrail({
    store: store.audit,
    now,
    whileUnavailable() {
      const batches = mover.batches()
      return batches && { batches, succeedsInTime, pause: beforeNextAppend }
    },
    noteLoss,
    pause,
    note(fault) {
      log({ event: `audit_trail_${fault.kind}`, lines: String(fault.lines) })
      if (fault.kind === 'lost' || fault.kind === 'stopped') metrics?.countLostAuditLines(fault.lines)
    },
  })
  return { trail, mover, settledOrOverdue }
}

function composeMover({ store, now, log, metrics }: Omit<AuditParts, 'limits'>) {
  return createBatchMover({
    chain: store.audit,
    cleaning: store.cleaning,
    waiting: () => store.placement().waitingBatches,
    holder: randomUUID(),
    now,
    note: ({ kind, series, position }) =>
      log({ event: 'audit_waiting_changed', reason: kind, series, position: String(position) }),
    noteMoved: (lines) => log({ event: 'audit_trail_moved', lines: String(lines) }),
    noteWaiting: (lines) => metrics?.setAuditLinesWaiting(lines),
  })
}

/** The event as a line of the log, with the id of its line in the trail. */
function logLineOf(
  { wallet, operator, details = {}, ...members }: AuditEvent,
  entry: AuditEntry | null,
): LoggedEvent<AuditEventName> {
  const facts = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, String(value)]))
  return {
    ...members,
    ...(wallet && { wallet: shortenAddress(wallet) }),
    ...(operator && { operator: shortenIfWallet(operator) }),
    ...facts,
    ...(entry && { audit_id: entry.id }),
  }
}

type KeepingSettings = { auditDays: number; service: { authUrl: string } }
type KeepingParts = Pick<AuditParts, 'now' | 'log'> & {
  store: Pick<Store, 'audit' | 'cleaning'>
  keys: KeyRing
  auditing: Pick<AuditPart, 'trail' | 'recordCounts'>
  metrics: Pick<Metrics, 'watchAuditHead'> | undefined
}

/** Writes the lines of counted events, then signs the head and deletes old lines, each if it is due. */
export function composeTrailKeeping(
  { auditDays: days, service: { authUrl: issuer } }: KeepingSettings,
  { store, keys, auditing: { trail, recordCounts }, now, log, metrics }: KeepingParts,
): Part {
  const parts = { store: store.audit, cleaning: store.cleaning, write: trail.record, holder: randomUUID(), now }
  let uncoveredSince: number | null = null
  metrics?.watchAuditHead(() => (uncoveredSince === null ? 0 : Math.max(0, now() - uncoveredSince)))
  const signHead = createHeadSigner({
    ...parts,
    noteUncovered: (since) => (uncoveredSince = since),
    issuer,
    sign: (claims) => signAuditHead(keys, claims),
    findKey: (id) => keys.verifier(id),
    note: ({ seq, kind }) => log({ event: 'audit_chain_broken', reason: kind, line: String(seq) }),
  })
  const deleteLines = createLineDeletion({ ...parts, days, pause: (milliseconds) => pauseFor(milliseconds) })
  const run = async (stopping: AbortSignal): Promise<void> => {
    recordCounts()
    await signHead()
    await deleteLines(stopping)
  }
  return { tasks: [{ name: 'keeping the audit trail', every: 60, run }] }
}

type Webhooks = Part & { webhooks: WebhookSender; receivers: Pick<Admin, 'testWebhook' | 'isCallable'> }

type WebhookParts = Pick<AuditParts, 'log'> & ReceiverParts & { store: Pick<Store, 'audit' | 'webhooks' | 'cleaning'> }

export function composeWebhooks({ store, log, ...receivers }: WebhookParts): Webhooks {
  const webhooks = createWebhookSender({
    ...webhookCalls(receivers),
    store: store.webhooks,
    lines: store.audit,
    cleaning: store.cleaning,
    holder: randomUUID(),
    note: (event, { id }, why) => log({ event, webhook_id: id, ...(why && { reason: why }) }),
    pause: (milliseconds) => pauseFor(milliseconds, undefined, { ref: false }),
  })
  return {
    webhooks,
    receivers: { testWebhook: webhookTests(receivers), isCallable: receiverCheck(receivers.outbound) },
    tasks: [{ name: 'delivering webhooks', every: 1, run: webhooks.deliver }],
    close: webhooks.stop,
  }
}
