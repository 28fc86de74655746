/** Clients that register themselves (RFC 7591) and authenticate with a key that they publish at a `jwks_uri`. */
import { expect } from 'vitest'
import { asserting, assertionOf, post, type TestKey } from '../../../support/client-key.ts'
import { type Answer, send } from '../../../support/send.ts'
import type { Grantor } from '../../../support/start.ts'

export const SELF_REGISTERED_REDIRECT_URI = 'https://agent.example/callback'

/** Registers a client whose keys are at this address, and returns the client id. */
export async function registerWithKeys({ authUrl }: Pick<Grantor, 'authUrl'>, jwksUri: string): Promise<string> {
  const answer = await send(authUrl, {
    method: 'POST',
    path: '/oauth/register',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Agent',
      redirect_uris: [SELF_REGISTERED_REDIRECT_URI],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: jwksUri,
    }),
  })
  const { client_id: clientId } = answer.json()
  expect(clientId).toMatch(/^grd\./)
  return clientId as string
}

/** A request with an assertion of the client: by default a revocation, which every authenticated client may send. */
export async function authenticatedBy(
  grantor: Grantor,
  clientId: string,
  key: TestKey,
  { path = '/oauth/revoke', body = { token: 'unknown' }, headers = {} }: AuthenticatedRequest = {},
): Promise<Answer> {
  return post(grantor, path, { ...body, ...asserting(await assertionOf(grantor, clientId, key)) }, headers)
}

type AuthenticatedRequest = { path?: string; body?: Record<string, string>; headers?: Record<string, string> }
