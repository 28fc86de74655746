/** The headers of a message of Standard Webhooks (standardwebhooks.com, version 1.0.0). */
import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

export type StandardMessage = {
  id: string
  /** the time of the attempt in epoch seconds */
  at: number
  text: string
}

/** One signature for each secret: two while a secret is being changed. A receiver accepts the message if one signature is correct. */
export function signStandardWebhook({ id, at, text }: StandardMessage, secrets: readonly Uint8Array[]): Record<string, string> {
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${at}.${text}`).digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signatures.join(' ') }
}

/** A new secret. Standard Webhooks allows 24 to 64 bytes. */
export function newStandardSecret(): Uint8Array {
  return new Uint8Array(randomBytes(32))
}

/** The secret in the form that the libraries of Standard Webhooks accept. */
export function standardSecretText(secret: Uint8Array): string {
  return PREFIX + Buffer.from(secret).toString('base64')
}

/** The bytes of a secret in that form. The caller has checked the form. */
export function readStandardSecret(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(PREFIX.length), 'base64'))
}
