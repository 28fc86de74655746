/** The messages to webhooks, as Standard Webhooks defines them (standardwebhooks.com, version 1.0.0). */
import { randomUUID } from 'node:crypto'
import { signStandardWebhook } from '../../protocol/keys/standard-webhook.ts'
import { writeTime } from '../../protocol/wallet/message-lines.ts'
import type { AuditLine } from '../model/audit-store.ts'
import { fieldsOf } from './verify.ts'

/** The type of a test message. No line of the trail has this event. */
export const TEST_EVENT = 'webhook_test'

type Message = { text: string; headers: Readonly<Record<string, string>> }

/**
 * A line of the trail. `at` is the time of the attempt in epoch seconds. The id is the line's, so a receiver recognises a repeated message.
 */
export function lineMessage({ line, event, at: happenedAt }: AuditLine, secret: Uint8Array, at: number): Message {
  const data = JSON.parse(line) as unknown
  return signContent({ id: String(fieldsOf(line)?.id), type: event, happenedAt, data }, secret, at)
}

/** A message that an operator sends to try the receiver. */
export function testMessage({ id: webhookId }: { id: string }, secret: Uint8Array, at: number): Message {
  const id = randomUUID()
  const data = { id, at, event: TEST_EVENT, webhook_id: webhookId }
  return signContent({ id, type: TEST_EVENT, happenedAt: at, data }, secret, at)
}

type WebhookContent = { id: string; type: string; happenedAt: number; data: unknown }

function signContent({ id, type, happenedAt, data }: WebhookContent, secret: Uint8Array, at: number): Message {
  const text = JSON.stringify({ type, timestamp: writeTime('at', happenedAt), data })
  return { text, headers: signStandardWebhook({ id, at, text }, [secret]) }
}
