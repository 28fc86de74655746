/** OpenID Connect clients, and their tokens from a session. */
import { expect } from 'vitest'
import { changeClient } from './signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from './start.ts'
import { parameterOf, requestOf, Walk } from './walk.ts'

export const OPENID = { response_type: 'code', scope: 'openid wallet' }

export type OpenIdTokens = { access_token: string; refresh_token: string; id_token: string; scope: string }

/** Registers a client that may request `openid` and `wallet`, with changes of its record. */
export async function openIdClient(grantor: Grantor, more: Partial<TestClient> = {}): Promise<TestClient> {
  const made = await grantor.createClient({ scopes: ['enhancement', 'openid', 'wallet'] })
  if (Object.keys(more).length > 0) await changeClient(grantor, made, more)
  return { ...made, ...more }
}

/** Starts the service with such a client, and a browser that has signed in for it. */
export async function startOpenIdApp(): Promise<{ grantor: Grantor; client: TestClient; walk: Walk }> {
  const grantor = await startGrantor()
  const client = await openIdClient(grantor)
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  return { grantor, client, walk }
}

/** The token response for one authorization request of a browser that is signed in. */
export async function openIdTokens(
  walk: Walk,
  client: TestClient,
  asked: Record<string, string> = OPENID,
): Promise<OpenIdTokens> {
  const { location } = await walk.authorize(requestOf(client, asked))
  const answer = await walk.exchange(client, parameterOf(location, 'code'))
  expect(answer.status, `${location} ${answer.body}`).toBe(200)
  return answer.json() as OpenIdTokens
}
