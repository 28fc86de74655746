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

export interface WebhookStore {
  /** `taken`: the id exists. `full`: `WEBHOOKS_AT_MOST` endpoints exist. */
  insertWebhook(webhook: StoredWebhook): Promise<'inserted' | 'taken' | 'full'>
  listWebhooks(): Promise<StoredWebhook[]>
  /** Changes a record without losing a simultaneous change. `change` may be called more than once. Null for an unknown webhook. */
  changeWebhook(id: string, change: (webhook: StoredWebhook) => StoredWebhook): Promise<StoredWebhook | null>
  /** Changes the progress if the cursor is still `before`, so that a node that lost its lease cannot undo what another one did. */
  moveWebhook(id: string, before: number, progress: WebhookProgress): Promise<'moved' | 'changed'>
  /** Replaces the wrapped secret `before` by `after`. */
  rewrapWebhook(id: string, before: string, after: string): Promise<'rewrapped' | 'changed'>
  deleteWebhook(id: string): Promise<'deleted' | 'unknown'>
}
