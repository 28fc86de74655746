/**
 * Sends the lines of the trail to the webhook endpoints, in order. One node at a time delivers to an endpoint.
 *
 * A line that fails stops the lines after it, so the lines of each grant arrive in order too. Attempts continue for a day, with growing
 * intervals. Then the endpoint is paused until an operator resumes it. No line is lost meanwhile, because the endpoint's cursor stays.
 */
import type { AuditLine, AuditStore } from '../model/audit-store.ts'
import type { CleaningStore } from '../model/operator-store.ts'
import {
  ATTEMPTS_AT_MOST,
  type Attempt,
  type StoredWebhook,
  type WebhookProgress,
  type WebhookStore,
} from '../model/webhook-store.ts'
import { lineMessage, TEST_EVENT, testMessage } from './webhook-message.ts'

/** Lines of one read, and lines that one run sends to an endpoint at most. */
const PAGE = 100
const SENT_AT_MOST = 500
/** Seconds for which one node delivers to an endpoint: longer than an attempt and the writes around it. */
const LEASE = 60
/** Seconds before the next attempt: half of the time for which attempts have failed, within these bounds. */
const RETRY = { least: 5, most: 3600 }
/** Seconds between two writes to the delivery log during one run. */
const LOGGED_EVERY = 5
/** Seconds of failing attempts after which an endpoint is paused. */
const GIVEN_UP_AFTER = 86_400 + 3600
/** Milliseconds for which `stop` waits: a process must end within six seconds. */
const STOP_WITHIN = 3000

export type WebhookAnswer = { kind: 'answered'; status: number } | { kind: 'unavailable'; why: string }

/** How one message is sent. */
export type WebhookCalls = {
  /** null if the secret cannot be unwrapped */
  openSecret: (webhook: StoredWebhook) => Uint8Array | null
  /** one POST, with its duration; does not throw */
  post: (call: {
    url: string
    json: { text: string; headers: Readonly<Record<string, string>> }
  }) => Promise<{ answer: WebhookAnswer; milliseconds: number }>
  now: () => number
}

export type WebhookDelivery = WebhookCalls & {
  store: WebhookStore
  lines: Pick<AuditStore, 'readLines'>
  cleaning: Pick<CleaningStore, 'takeLease'>
  holder: string
  /** reports that an endpoint begins to fail, works again, or was paused */
  note: (event: 'webhook_failing' | 'webhook_works_again' | 'webhook_paused', webhook: StoredWebhook, why: string) => void
  pause: (milliseconds: number) => Promise<void>
}

export type WebhookSender = {
  /** Starts the deliveries that are due, and returns. Throws if the store failed since the last call. */
  deliver(): Promise<void>
  /** Resolves when the attempts that are under way have ended. */
  settle(): Promise<void>
  /**
   * Starts no further deliveries, and waits at most three seconds for the attempts under way. The next process repeats an attempt that takes
   * longer, although its message may have arrived.
   */
  stop(): Promise<void>
}

/** Each endpoint has its own run, so an endpoint that hangs delays no other endpoint. */
export function createWebhookSender(delivery: WebhookDelivery): WebhookSender {
  const { store, now, pause } = delivery
  const underWay = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  const failures: unknown[] = []

  function start(webhook: StoredWebhook): void {
    const run = new DeliveryRun(delivery, webhook, stopping.signal)
      .deliver()
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(webhook.id))
    underWay.set(webhook.id, run)
  }

  const settle = async (): Promise<void> => void (await Promise.all(underWay.values()))
  return {
    settle,
    async deliver() {
      const [failure] = failures.splice(0)
      if (failure !== undefined) throw new Error('a delivery was interrupted', { cause: failure })
      for (const webhook of await store.listWebhooks()) {
        const isDue = webhook.pausedAt === null && webhook.nextAt <= now() && !underWay.has(webhook.id)
        if (isDue && !stopping.signal.aborted) start(webhook)
      }
    },
    async stop() {
      stopping.abort()
      await Promise.race([settle(), pause(STOP_WITHIN)])
    },
  }
}

class DeliveryRun {
  readonly #delivery: WebhookDelivery
  readonly #webhook: StoredWebhook
  readonly #stopping: AbortSignal
  #cursor: number
  #leasedAt = Number.NEGATIVE_INFINITY
  #failingSince: number | null
  #attempts: Attempt[] = []
  #loggedAt: number

  constructor(delivery: WebhookDelivery, webhook: StoredWebhook, stopping: AbortSignal) {
    this.#delivery = delivery
    this.#webhook = webhook
    this.#stopping = stopping
    this.#cursor = webhook.cursor
    this.#failingSince = webhook.failingSince
    this.#loggedAt = delivery.now()
  }

  async deliver(): Promise<void> {
    if (!(await this.#holdsLease())) return
    try {
      await this.#deliverLines()
    } finally {
      await this.#writeLog()
    }
  }

  async #deliverLines(): Promise<void> {
    for (let sent = 0; sent < SENT_AT_MOST; ) {
      const page = await this.#delivery.lines.readLines({ after: this.#cursor, limit: PAGE })
      let skipped = this.#cursor
      for (const line of page) {
        if (!this.#isWanted(line)) skipped = line.seq
        else if (await this.#deliverLine(line)) [skipped, sent] = [line.seq, sent + 1]
        else return
      }
      if (skipped !== this.#cursor && !(await this.#move(skipped))) return
      if (page.length < PAGE) return
    }
  }

  async #holdsLease(): Promise<boolean> {
    const { cleaning, holder, now } = this.#delivery
    const at = now()
    // If the clock jumped, the age of the lease is unknown.
    if (Math.abs(at - this.#leasedAt) < LEASE / 3) return true
    const outcome = await cleaning.takeLease(`webhook ${this.#webhook.id}`, holder, at, LEASE)
    this.#leasedAt = at
    return outcome === 'taken'
  }

  #isWanted({ event }: AuditLine): boolean {
    const { events } = this.#webhook
    return events.length === 0 || events.includes(event)
  }

  /** False if the run ends here. */
  async #deliverLine(line: AuditLine): Promise<boolean> {
    const { now, note } = this.#delivery
    if (this.#stopping.aborted || !(await this.#holdsLease())) return false
    const attempt = await sendToWebhook(this.#delivery, this.#webhook, line)
    this.#attempts.push(attempt)
    if (attempt.failure !== null) {
      await this.#noteFailure(attempt.failure)
      return false
    }
    if (now() - this.#loggedAt >= LOGGED_EVERY) await this.#writeLog()
    if (this.#failingSince !== null) note('webhook_works_again', this.#webhook, '')
    this.#failingSince = null
    return this.#move(line.seq)
  }

  async #noteFailure(why: string): Promise<void> {
    const { now, note, store } = this.#delivery
    const at = now()
    if (this.#failingSince === null) note('webhook_failing', this.#webhook, why)
    const failingSince = this.#failingSince ?? at
    // 410 (Standard Webhooks): the receiver accepts no more messages.
    const isGivenUp = why === 'status_410' || at - failingSince >= GIVEN_UP_AFTER
    const wait = Math.min(Math.max(Math.floor((at - failingSince) / 2), RETRY.least), RETRY.most)
    const progress = { cursor: this.#cursor, failingSince, nextAt: at + wait, pausedAt: isGivenUp ? at : null }
    const outcome = await store.moveWebhook(this.#webhook, this.#cursor, progress)
    if (isGivenUp && outcome === 'moved') note('webhook_paused', this.#webhook, why)
  }

  /** The attempts of a run are written together: a write for each line would double the writes of a delivery. */
  async #writeLog(): Promise<void> {
    const attempts = this.#attempts.slice(-ATTEMPTS_AT_MOST)
    this.#attempts = []
    this.#loggedAt = this.#delivery.now()
    if (attempts.length > 0) await this.#delivery.store.logAttempts(this.#webhook.id, attempts)
  }

  /** False if an operator moved the cursor or paused the webhook meanwhile, or another node delivers. */
  async #move(cursor: number): Promise<boolean> {
    const { store, now } = this.#delivery
    const progress: WebhookProgress = { cursor, failingSince: this.#failingSince, nextAt: now(), pausedAt: null }
    const outcome = await store.moveWebhook(this.#webhook, this.#cursor, progress)
    this.#cursor = cursor
    return outcome === 'moved'
  }
}

/** Sends the line, or a test that is no line. */
export async function sendToWebhook(
  { openSecret, post, now }: WebhookCalls,
  webhook: StoredWebhook,
  line: AuditLine | null,
): Promise<Attempt> {
  const at = now()
  const secret = openSecret(webhook)
  const made = secret && (line ? lineMessage(line, secret, at) : testMessage(webhook, secret, at))
  const { answer, milliseconds } = made ? await post({ url: webhook.url, json: made }) : UNREADABLE
  return {
    at,
    line: line?.seq ?? null,
    event: line?.event ?? TEST_EVENT,
    status: answer.kind === 'answered' ? answer.status : null,
    failure: deliveryFailure(answer),
    milliseconds,
  }
}

const UNREADABLE = { answer: { kind: 'unavailable', why: 'secret_not_readable' }, milliseconds: 0 } as const

function deliveryFailure(answer: WebhookAnswer): string | null {
  if (answer.kind === 'unavailable') return answer.why
  return answer.status >= 200 && answer.status < 300 ? null : `status_${answer.status}`
}
