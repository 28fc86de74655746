/** A line of the trail as a message of Standard Webhooks (standardwebhooks.com, version 1.0.0). */
import { createHmac, randomBytes } from 'node:crypto'
import { writeTime } from '../../wallet/message-lines.ts'
import type { AuditLine } from '../model/audit-store.ts'
import { fieldsOf } from './verify.ts'

const PREFIX = 'whsec_'

/** A new secret. Standard Webhooks allows 24 to 64 bytes. */
export function newWebhookSecret(): Uint8Array {
  return new Uint8Array(randomBytes(32))
}

/** The secret in the form that the libraries of Standard Webhooks accept. */
export function webhookSecretText(secret: Uint8Array): string {
  return PREFIX + Buffer.from(secret).toString('base64')
}

/** `at` is the time of the attempt in epoch seconds. The id is the line's, so a receiver recognises a repeated message. */
export function webhookMessage({ line, event, at: happenedAt }: AuditLine, secret: Uint8Array, at: number) {
  const id = String(fieldsOf(line)?.id)
  const text = JSON.stringify({ type: event, timestamp: writeTime('at', happenedAt), data: JSON.parse(line) as unknown })
  const signature = createHmac('sha256', secret).update(`${id}.${at}.${text}`).digest('base64')
  return {
    text,
    headers: { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` },
  }
}
