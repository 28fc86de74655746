/**
 * Counts events that have no line of their own, by their kind and by who caused them. Once a minute one line for each of these counts is
 * written, so the size of the trail does not depend on how often a caller repeats a request.
 */
import type { AuditEvent } from '../model/audit-events.ts'

/** Counts in memory, which are also the lines of one minute. Beyond this number, events of one kind share a count without client and wallet. */
const COUNTS_AT_MOST = 1000

type EventCount = { event: AuditEvent; since: number; events: number }

export class EventCounts {
  readonly #counts = new Map<string, EventCount>()

  add(event: AuditEvent, at: number): void {
    const kind = countedPart(event)
    const key = keyOf(kind)
    const shared = this.#counts.has(key) || this.#counts.size < COUNTS_AT_MOST ? kind : ofEveryone(kind)
    const count = this.#counts.get(keyOf(shared))
    if (count) count.events++
    else this.#counts.set(keyOf(shared), { event: shared, since: at, events: 1 })
  }

  /** Returns one event for each count, with the number of events and the seconds since the first, and begins again. */
  take(at: number): AuditEvent[] {
    const counts = [...this.#counts.values()]
    this.#counts.clear()
    return counts.map(({ event, since, events }) => ({ ...event, details: { events, seconds: Math.max(0, at - since) } }))
  }
}

/** What the events of one count have in common. */
function countedPart({ event, reason, client_id, wallet }: AuditEvent): AuditEvent {
  return { ...ofEveryone({ event, reason } as AuditEvent), ...(client_id && { client_id }), ...(wallet && { wallet }) }
}

function ofEveryone({ event, reason }: AuditEvent): AuditEvent {
  return { event, ...(reason && { reason }) } as AuditEvent
}

function keyOf({ event, reason, client_id, wallet }: AuditEvent): string {
  return [event, reason, client_id, wallet].join(' ')
}
