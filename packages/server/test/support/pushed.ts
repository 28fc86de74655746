/** Authorization requests that are pushed (RFC 9126), or sent as request objects (RFC 9101). */

import { SignJWT } from 'jose'
import { expect } from 'vitest'
import type { TestKey } from './client-key.ts'
import type { Answer } from './send.ts'
import type { Grantor, TestClient } from './start.ts'
import { type Parameters, requestOf, type Walk } from './walk.ts'

export const URN = 'urn:ietf:params:oauth:request_uri:'

export function push(walk: Walk, client: TestClient, body: Parameters = requestOf(client), headers = {}): Promise<Answer> {
  if (typeof body === 'string' || client.secret !== '') return walk.call('/oauth/par', client, body, headers)
  // The client_id of a public client is the client_id parameter of the request.
  const { client_id: _, ...rest } = body
  return walk.call('/oauth/par', client, rest, headers)
}

/** Pushes a request, and returns the query for the authorization endpoint. */
export async function pushed(
  walk: Walk,
  client: TestClient,
  more: Record<string, string | string[]> = {},
): Promise<{ client_id: string; request_uri: string }> {
  const answer = await push(walk, client, requestOf(client, more))
  expect(answer.status, `pushed: ${answer.body}`).toBe(201)
  return { client_id: client.id, request_uri: answer.json().request_uri as string }
}

/** A valid request object of a client with changes. A claim that is `undefined` is left out. */
export function requestObjectOf(
  { authUrl, clock }: Pick<Grantor, 'authUrl' | 'clock'>,
  client: TestClient,
  key: TestKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const at = clock.now()
  const usual = { iss: client.id, aud: authUrl, exp: at + 300, iat: at, nbf: at, ...requestOf(client), response_type: 'code' }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'oauth-authz-req+jwt', ...header })
    .sign(key.privateKey)
}
