/** The table of refusals: the exact status, headers and body of each. */
import { expect } from 'vitest'
import type { Answer } from './send.ts'

/** Headers that are not compared: those of the connection, and the request id, which changes with each request. */
const OF_THE_CONNECTION = ['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'x-request-id']

/** The headers of every JSON response. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
}

type Refusal = { status: number; error: string; description: string; headers?: Record<string, string> }

export const REFUSALS = {
  invalid_client: {
    status: 401,
    error: 'invalid_client',
    description: 'Client authentication failed.',
    headers: { 'www-authenticate': 'Basic realm="grantor", charset="UTF-8"' },
  },
  invalid_grant: {
    status: 400,
    error: 'invalid_grant',
    description:
      'The authorization code or refresh token is invalid, expired, revoked, already used, does not match the authorization request, or was issued to another client.',
  },
  unauthorized_client: {
    status: 400,
    error: 'unauthorized_client',
    description: 'The client is not authorized to use this grant type.',
  },
  unsupported_grant_type: {
    status: 400,
    error: 'unsupported_grant_type',
    description:
      'The authorization server does not support this grant type. Use authorization_code, refresh_token, client_credentials, urn:ietf:params:oauth:grant-type:token-exchange or urn:ietf:params:oauth:grant-type:device_code.',
  },
  authorization_pending: {
    status: 400,
    error: 'authorization_pending',
    description: 'The user has not answered yet. Repeat the request after the interval.',
  },
  slow_down: {
    status: 400,
    error: 'slow_down',
    description: 'The user has not answered yet. Add 5 seconds to the interval, and repeat the request.',
  },
  expired_token: { status: 400, error: 'expired_token', description: 'The device code has expired.' },
  access_denied: { status: 400, error: 'access_denied', description: 'The user declined.' },
  invalid_scope: {
    status: 400,
    error: 'invalid_scope',
    description: 'The requested scope is unknown, malformed, or exceeds what was granted or what the client may request.',
  },
  invalid_target: {
    status: 400,
    error: 'invalid_target',
    description: 'The requested resource is unknown, malformed, or exceeds what was granted or what the client may request.',
  },
  invalid_dpop_proof: {
    status: 400,
    error: 'invalid_dpop_proof',
    description: 'The DPoP proof is malformed, too old, used, or not for this request.',
  },
  temporarily_unavailable: {
    status: 503,
    error: 'temporarily_unavailable',
    description: 'The service cannot reach its store right now. Try again in a moment.',
    headers: { 'retry-after': '5' },
  },
} satisfies Record<string, Refusal>

export const invalidRequest = (description: string): Refusal => ({ status: 400, error: 'invalid_request', description })

/** Compares a response with a refusal: status, exact body, and exactly the headers of the table (without `Vary`). */
export function expectRefusal(answer: Answer, refusal: keyof typeof REFUSALS | Refusal): void {
  const { status, error, description, headers = {} }: Refusal = typeof refusal === 'string' ? REFUSALS[refusal] : refusal
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: JSON.stringify({ error, error_description: description }),
  })
  expect(headersOf(answer)).toEqual({ ...JSON_HEADERS, ...headers })
}

/** Compares a response with a success of a JSON endpoint. */
export function expectJson(answer: Answer): Record<string, unknown> {
  expect(answer.status).toBe(200)
  expect(headersOf(answer)).toEqual(JSON_HEADERS)
  return answer.json()
}

/** The headers of a response that are compared. */
export function headersOf(answer: Answer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(answer.headers).filter(([name]) => ![...OF_THE_CONNECTION, 'vary'].includes(name)))
}
