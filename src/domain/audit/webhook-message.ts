/** A line of the trail as a message of Standard Webhooks (standardwebhooks.com, version 1.0.0). */
import { signStandardWebhook } from '../../keys/standard-webhook.ts'
import { writeTime } from '../../wallet/message-lines.ts'
import type { AuditLine } from '../model/audit-store.ts'
import { fieldsOf } from './verify.ts'

/** `at` is the time of the attempt in epoch seconds. The id is the line's, so a receiver recognises a repeated message. */
export function webhookMessage({ line, event, at: happenedAt }: AuditLine, secret: Uint8Array, at: number) {
  const id = String(fieldsOf(line)?.id)
  const text = JSON.stringify({ type: event, timestamp: writeTime('at', happenedAt), data: JSON.parse(line) as unknown })
  return { text, headers: signStandardWebhook({ id, at, text }, [secret]) }
}
