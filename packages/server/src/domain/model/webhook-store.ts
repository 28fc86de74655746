/** Endpoints that get lines of the audit trail. The trail itself is the queue: each endpoint has a place in it. */

export type Webhook = {
  id: string
  url: string
  /** wrapped like a key, in base64url */
  secret: string
  /** the events that are sent; empty for every event */
  events: string[]
  /** epoch seconds */
  createdAt: number
}

/** How far the delivery to an endpoint is. */
export type WebhookProgress = {
  /** the last line that was delivered or is not wanted */
  cursor: number
  /** since when every attempt has failed; null if the last one succeeded */
  failingSince: number | null
  /** no attempt before this time */
  nextAt: number
  /** since when no more attempts are made; null if attempts are made */
  pausedAt: number | null
}

export type StoredWebhook = Webhook & WebhookProgress

/** The most endpoints that a store accepts: each of them reads the whole trail. */
export const WEBHOOKS_AT_MOST = 20

/** One attempt to deliver a line, or a test. */
export type Attempt = {
  /** epoch seconds */
  at: number
  /** the number of the line; null for a test */
  line: number | null
  event: string
  /** the status of the response; null if there was none */
  status: number | null
  /** why the receiver did not accept the message, such as `timed_out`; null if the receiver accepted it */
  failure: string | null
  /** from the call to the last byte of the response */
  milliseconds: number
}

/** An attempt in the log, with its number among the attempts for the same line: 1 for the first. */
export type LoggedAttempt = Attempt & { attempt: number }

/** The most attempts that the log of a webhook has. */
export const ATTEMPTS_AT_MOST = 100

/** The log, newest first, with further attempts, the oldest of which comes first. */
export function withAttempts(log: readonly LoggedAttempt[], attempts: readonly Attempt[]): LoggedAttempt[] {
  const all = [...log]
  for (const attempt of attempts) {
    const before = attempt.line === null ? undefined : all.find(({ line }) => line === attempt.line)
    all.unshift({ ...attempt, attempt: before && before.failure !== null ? before.attempt + 1 : 1 })
  }
  return all.slice(0, ATTEMPTS_AT_MOST)
}

export interface WebhookStore {
  /** `taken`: the id exists. `full`: `WEBHOOKS_AT_MOST` endpoints exist. */
  insertWebhook(webhook: StoredWebhook): Promise<'inserted' | 'taken' | 'full'>
  listWebhooks(): Promise<StoredWebhook[]>
  /**
   * Changes a record without losing a simultaneous change. `change` may be called more than once; if it returns null, nothing changes. Null for
   * an unknown webhook, and if nothing changed.
   */
  changeWebhook(id: string, change: (webhook: StoredWebhook) => StoredWebhook | null): Promise<StoredWebhook | null>
  /**
   * Changes the progress if the cursor is still `before`, so that a node that lost its lease cannot undo what another one did, and if the URL is
   * still the same, so that a new receiver gets every line that the old one has not acknowledged. `paused`: the progress was changed, and the
   * webhook stays paused because an operator paused it meanwhile.
   */
  moveWebhook(
    of: Pick<StoredWebhook, 'id' | 'url'>,
    before: number,
    progress: WebhookProgress,
  ): Promise<'moved' | 'paused' | 'changed'>
  /** Adds attempts to the log of a webhook, the oldest first. Does nothing for an unknown webhook. */
  logAttempts(id: string, attempts: readonly Attempt[]): Promise<void>
  /** The log of a webhook, newest first. Null for an unknown webhook. */
  readAttempts(id: string): Promise<LoggedAttempt[] | null>
  /** Replaces the wrapped secret `before` by `after`. */
  rewrapWebhook(id: string, before: string, after: string): Promise<'rewrapped' | 'changed'>
  deleteWebhook(id: string): Promise<'deleted' | 'unknown'>
}
