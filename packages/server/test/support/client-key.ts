/** A client's own key, and its client assertions, made with an independent library (jose). */
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import type { PublicJwk } from '@grantor/protocol/public-jwk'
import { SignJWT } from 'jose'
import { type Answer, send } from './send.ts'
import type { Grantor } from './start.ts'
import { encode } from './walk.ts'

export type TestKey = { alg: 'ES256' | 'PS256' | 'EdDSA'; kid: string; privateKey: KeyObject; jwk: PublicJwk }

export function newClientKey(alg: TestKey['alg'] = 'ES256', kid = `key-${alg}`): TestKey {
  const pair =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'PS256'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519')
  return { alg, kid, privateKey: pair.privateKey, jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}

/** RSA keys of kinds that may not be registered any more. The modulus of the long one is any odd number: nothing looks for its factors. */
export function oldRsaKeys(kid = 'old'): Record<'of 8192 bits' | 'with the exponent 3', TestKey> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })
  const long = { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(1024, 0xff).toString('base64url') }
  return {
    'of 8192 bits': { alg: 'PS256', kid, privateKey, jwk: { ...long, kid } },
    'with the exponent 3': { alg: 'PS256', kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } },
  }
}

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A valid client assertion with changes. A claim that is `undefined` is left out. */
export function assertionOf(
  { authUrl, clock }: Pick<Grantor, 'authUrl' | 'clock'>,
  clientId: string,
  key: TestKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const at = clock.now()
  const usual = { iss: clientId, sub: clientId, aud: authUrl, exp: at + 60, iat: at, jti: randomUUID() }
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey)
}

/** The two request parameters of a client assertion (RFC 7521 §4.2). */
export const asserting = (assertion: string) => ({ client_assertion_type: ASSERTION_TYPE, client_assertion: assertion })

/** Sends a form to a POST endpoint, without added parameters. */
export function post(grantor: Grantor, path: string, body: Record<string, string | string[]>, headers = {}): Promise<Answer> {
  return send(grantor.authUrl, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: encode(body),
  })
}
