/** The calls to the receivers of webhooks, with clients of their own, so that slow receivers do not delay calls to the apps. */
import { sendToWebhook, type WebhookCalls } from '../../domain/audit/webhooks.ts'
import type { Service } from '../../operators/operations/service.ts'
import { createFetchFromClient, isCallable, type OutboundOptions } from '../../outbound/http/fetch-from-client.ts'
import type { KeyWrap } from '../../protocol/keys/key-wrap.ts'

export type ReceiverParts = {
  wrap: KeyWrap
  outbound: Pick<OutboundOptions, 'allowLoopback' | 'ca' | 'concurrency'>
  now: () => number
}

export function webhookCalls({ wrap, outbound, now }: ReceiverParts): WebhookCalls {
  const call = createFetchFromClient({ ...outbound, timeoutMs: 10_000 })
  return {
    openSecret: ({ id, secret }) => wrap.unwrap(Buffer.from(secret, 'base64url'), id, 'webhook'),
    async post(given) {
      const began = performance.now()
      const answer = await call(given)
      return { answer, milliseconds: Math.round(performance.now() - began) }
    },
    now,
  }
}

/** Whether the deliveries could be sent, for the check of a new webhook. */
export function receiverCheck(outbound: ReceiverParts['outbound']): Service['isCallable'] {
  return (url) => isCallable(url, outbound)
}

/** Tests that operators send. They are bounded apart from the deliveries, so that tests of a receiver that hangs delay no delivery. */
export function webhookTests({ outbound, ...parts }: ReceiverParts): Service['testWebhook'] {
  const calls = webhookCalls({ ...parts, outbound: { ...outbound, concurrency: 4 } })
  return async (webhook) => sendToWebhook(calls, webhook, null)
}
