/** The scopes of a request that count, for registered clients and for others. */
import { expect, test } from 'vitest'
import { understoodScopes } from '../../../src/domain/clients/understood-scopes.ts'
import type { Deps } from '../../../src/domain/model/deps.ts'
import type { Client } from '../../../src/domain/model/records.ts'
import { someClient } from '../../store/contract/subject.ts'

// The platform describes a scope with a name of OpenID Connect Core §5.4.
const deps = {
  settings: { scopeDescriptions: { history: 'See your history', email: 'See your address' } },
  resources: { listing: (scope: string) => (scope === 'trade' ? [{}] : []) },
} as unknown as Deps

const understood = (client: Client, scope: string) => understoodScopes(deps, client, scope.split(' ')).join(' ')
const registered = (...scopes: string[]): Client => ({ ...someClient(), scopes })

test('With openid, a standard scope counts only for a client that is registered for the scope, also if the platform describes it (RFC 6749 §3.3)', () => {
  const asked = 'openid profile email address phone offline_access wallet'
  expect(understood(registered('openid'), asked)).toBe('openid')
  expect(understood(registered('openid', 'email', 'wallet'), asked)).toBe('openid email wallet')
  expect(understood(registered('enhancement'), asked), 'openid itself is never left out').toBe('openid')
})

test('With openid, a scope of the platform or of a resource counts even if the client is not registered for the scope', () => {
  expect(understood(registered('openid'), 'openid history trade unknown')).toBe('openid history trade')
})

test('Without openid, every requested scope counts (RFC 6749 §3.3)', () => {
  expect(understood(registered('openid'), 'profile email unknown')).toBe('profile email unknown')
})

test('For a client that no operator registered, the scopes of the service count and those of other providers do not', () => {
  const agent: Client = { ...someClient(), id: 'https://agent.example/client.json', scopes: [] }
  expect(understood(agent, 'openid profile wallet trade email offline_access')).toBe('openid profile wallet trade')
})
