/** An app whose client authenticates with private_key_jwt, and checks whether an assertion is accepted. */
import { expect } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { asserting, assertionOf, newClientKey, post, type TestKey } from '../../../support/client-key.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import type { Answer } from '../../../support/send.ts'
import type { TestClient } from '../../../support/start.ts'

export const key = newClientKey('ES256', 'one')
export const another = newClientKey('ES256', 'two')
export const registration = { authMethod: 'private_key_jwt' as const, jwks: { keys: [key.jwk, another.jwk] } }

export type KeyedApp = {
  app: App
  client: TestClient
  /** a valid assertion with changes */
  assertion(claims?: Record<string, unknown>, header?: Record<string, unknown>, by?: TestKey, of?: TestClient): Promise<string>
  /** Sends a revocation, which every authenticated client may do: 200 means that the assertion was accepted. */
  revokeBy(text: string, more?: Record<string, string>): Promise<Answer>
  /** Expects the refusal of every failed authentication, with this reason in the audit log. */
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
