/** An app whose client proves itself by its own keys, and whether what it says is believed. */
import { expect } from 'vitest'
import { type App, startApp } from './app.ts'
import { asserting, assertionOf, newClientKey, post, type TestKey } from './client-key.ts'
import { expectRefusal } from './refusals.ts'
import type { Answer } from './send.ts'
import type { TestClient } from './start.ts'

export const key = newClientKey('ES256', 'one')
export const another = newClientKey('ES256', 'two')
export const registration = { authMethod: 'private_key_jwt' as const, jwks: { keys: [key.jwk, another.jwk] } }

export type KeyedApp = {
  app: App
  client: TestClient
  /** One that is good, but for what is changed in it. */
  assertion(claims?: Record<string, unknown>, header?: Record<string, unknown>, by?: TestKey, of?: TestClient): Promise<string>
  /** Asks for a revocation, which a client that proved itself may always do: 200 means the assertion was believed. */
  revokeBy(text: string, more?: Record<string, string>): Promise<Answer>
  /** Refused as every failed authentication is; the audit log knows why. */
  expectRefused(text: string, reason: string, more?: Record<string, string>): Promise<void>
}

export async function startKeyedApp(): Promise<KeyedApp> {
  const app = await startApp()
  const client = await app.grantor.createClient(registration)
  const revokeBy = (text: string, more: Record<string, string> = {}): Promise<Answer> =>
    post(app.grantor, '/oauth/revoke', { token: 'unknown', ...asserting(text), ...more })
  return {
    app,
    client,
    assertion: (claims = {}, header = {}, by = key, of = client) => assertionOf(app.grantor, of.id, by, claims, header),
    revokeBy,
    async expectRefused(text, reason, more = {}) {
      expectRefusal(await revokeBy(text, more), 'invalid_client')
      expect(app.grantor.events.at(-1)).toMatchObject({ event: 'refused', reason })
    },
  }
}
