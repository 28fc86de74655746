/** A client's DPoP key, its proofs, made with an independent library (jose), and the requests of apps that send a proof at every step. */
import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, SignJWT } from 'jose'
import { newClientKey, type TestKey } from './client-key.ts'
import type { Answer } from './send.ts'
import type { Grantor, TestClient } from './start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, requestOf, type Walk } from './walk.ts'

/** the public key as in the header of a proof, with only the required members */
export function newDpopKey(alg: TestKey['alg'] = 'ES256'): TestKey {
  const key = newClientKey(alg)
  const { kid: _, use: __, ...jwk } = key.jwk
  return { ...key, jwk }
}

export const thumbprint = ({ jwk }: TestKey): Promise<string> => calculateJwkThumbprint(jwk)

/** The claims and the header of a valid proof for the token endpoint, with changes. A member that is `undefined` is left out. */
export function proofOf(
  { authUrl, clock }: Pick<Grantor, 'authUrl' | 'clock'>,
  key: TestKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const usual = { jti: randomUUID(), htm: 'POST', htu: `${authUrl}/oauth/token`, iat: clock.now() }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...header })
    .sign(key.privateKey)
}

/** The claim `ath` of a proof that is sent with an access token (RFC 9449 §4.2). */
export const athOf = (token: string): string => createHash('sha256').update(token).digest('base64url')

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
