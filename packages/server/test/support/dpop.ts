/** A client's DPoP key, and its proofs, made with an independent library (jose). */
import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, SignJWT } from 'jose'
import { newClientKey, type TestKey } from './client-key.ts'
import type { Grantor } from './start.ts'

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
