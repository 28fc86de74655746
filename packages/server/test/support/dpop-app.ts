/** Apps that send a DPoP proof at every step: code, refresh, push. */
import type { TestKey } from './client-key.ts'
import { proofOf } from './dpop.ts'
import type { Answer } from './send.ts'
import type { TestClient } from './start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, requestOf, type Walk } from './walk.ts'

/** A code for an app with PKCE, from a browser that is signed in. */
export async function codeFor(walk: Walk, client: TestClient, more: Record<string, string> = {}): Promise<string> {
  const { location } = await walk.authorize(requestOf(client, { ...PKCE, ...more }))
  return parameterOf(location, 'code')
}

/** Redeems a code, with a proof if a key is given. */
export async function exchangeWith(
  walk: Walk,
  client: TestClient,
  code: string,
  key: TestKey | null,
  more = {},
): Promise<Answer> {
  const body = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUris[0] ?? '' }
  return walk.token(client, { ...body, code_verifier: CODE_VERIFIER, ...more }, await headersOf(walk, key))
}

export async function refreshWith(
  walk: Walk,
  client: TestClient,
  refreshToken: string,
  key: TestKey | null,
  more = {},
): Promise<Answer> {
  return walk.token(client, { grant_type: 'refresh_token', refresh_token: refreshToken, ...more }, await headersOf(walk, key))
}

async function headersOf(walk: Walk, key: TestKey | null): Promise<Record<string, string>> {
  return key === null ? {} : { dpop: await proofOf(walk.grantor, key) }
}
