/** The audit log and the audit trail of a server: each event is a line of the log, and some events are lines of the trail too. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { shortenIfWallet } from '../../domain/audit/entry.ts'
import { entryOfEvent, isAwaited } from '../../domain/audit/recorded-events.ts'
import { createLineDeletion } from '../../domain/audit/retention.ts'
import { createHeadSigner } from '../../domain/audit/signed-heads.ts'
import { type AuditTrail, createAuditTrail, type TrailFault } from '../../domain/audit/trail.ts'
import { createWebhookSender, type WebhookSender } from '../../domain/audit/webhooks.ts'
import type { Deps } from '../../domain/model/deps.ts'
import type { Store } from '../../domain/model/store.ts'
import { signAuditHead } from '../../keys/audit-head.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { KeyWrap } from '../../keys/key-wrap.ts'
import type { AuditEvent as LoggedEvent } from '../../ops/audit-log.ts'
import type { Metrics } from '../../ops/metrics.ts'
import { currentNetwork, currentRequestId, holdResponse } from '../../ops/request-log.ts'
import { createFetchFromClient, type OutboundOptions } from '../../outbound/fetch-from-client.ts'
import { shortenAddress } from '../../wallet/address.ts'

type AuditParts = {
  store: Pick<Store, 'audit'>
  now: () => number
  /** one line of the log */
  log: (event: LoggedEvent) => void
  metrics: Pick<Metrics, 'countLostAuditLines'> | undefined
}

/** A response that follows a recorded event is held until the line is committed, for two seconds at most. */
export function composeAudit({ store, now, log, metrics }: AuditParts): { audit: Deps['audit']; trail: AuditTrail } {
  const trail = createAuditTrail({
    store: store.audit,
    pause: (milliseconds) => pauseFor(milliseconds),
    note(fault) {
      log(faultEvent(fault))
      if (fault.kind === 'lost' || fault.kind === 'stopped') metrics?.countLostAuditLines(fault.lines)
    },
  })
  const circumstances = () => ({ at: now(), requestId: currentRequestId(), network: currentNetwork() })
  return {
    trail,
    audit(event) {
      const entry = entryOfEvent(event, circumstances)
      const { wallet, operator, details = {}, ...members } = event
      const facts = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, String(value)]))
      log({
        ...members,
        ...(wallet && { wallet: shortenAddress(wallet) }),
        ...(operator && { operator: shortenIfWallet(operator) }),
        ...facts,
        ...(entry && { audit_id: entry.id }),
      })
      if (!entry) return
      if (isAwaited(event)) holdResponse(trail.record(entry))
      else trail.recordSoon(entry)
    },
  }
}

function faultEvent({ kind, lines }: TrailFault): LoggedEvent {
  const event = `audit_trail_${kind}`
  return kind === 'caught_up' ? { event, lines: String(lines) } : { event, lines: String(lines), alarm: true }
}

type KeepingParts = Pick<AuditParts, 'now' | 'log'> & {
  store: Pick<Store, 'audit' | 'cleaning'>
  keys: KeyRing
  trail: AuditTrail
  issuer: string
  days: number
}

/** Signs the head and deletes old lines, each if it is due. */
export function composeTrailKeeping({ store, keys, trail, issuer, days, now, log }: KeepingParts) {
  const parts = { store: store.audit, cleaning: store.cleaning, write: trail.record, holder: randomUUID(), now }
  const signHead = createHeadSigner({
    ...parts,
    issuer,
    sign: (claims) => signAuditHead(keys, claims),
    findKey: (id) => keys.verifier(id),
    note: ({ seq, kind }) => log({ event: 'audit_chain_broken', reason: kind, line: String(seq), alarm: true }),
  })
  const deleteLines = createLineDeletion({ ...parts, days, pause: (milliseconds) => pauseFor(milliseconds) })
  return async (stopping?: AbortSignal): Promise<void> => {
    await signHead()
    await deleteLines(stopping)
  }
}

type WebhookParts = Pick<AuditParts, 'now' | 'log'> & {
  store: Pick<Store, 'audit' | 'webhooks' | 'cleaning'>
  wrap: KeyWrap
  outbound: Pick<OutboundOptions, 'allowLoopback' | 'ca'>
}

/** Receivers have a client of their own, so that slow ones do not delay calls to the apps. */
export function composeWebhooks({ store, wrap, outbound, now, log }: WebhookParts): WebhookSender {
  return createWebhookSender({
    store: store.webhooks,
    lines: store.audit,
    cleaning: store.cleaning,
    holder: randomUUID(),
    openSecret: ({ id, secret }) => wrap.unwrap(Buffer.from(secret, 'base64url'), id, 'webhook'),
    post: createFetchFromClient({ ...outbound, timeoutMs: 10_000 }),
    note: (event, { id }, why) =>
      log({ event, webhook_id: id, ...(why && { reason: why }), ...(event === 'webhook_paused' && { alarm: true }) }),
    now,
    pause: (milliseconds) => pauseFor(milliseconds, undefined, { ref: false }),
  })
}
