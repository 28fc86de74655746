/** Signing keys: generated, exported and imported (RFC 7517, RFC 7518, RFC 8037). */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'

/** ES256 is the default; all are asymmetric (RFC 9068 §4). RFC 9068 §2.1 and OpenID Connect Core §15.1 require RS256. */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256', 'EdDSA'] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/**
 * `sign`: access tokens, in the configured algorithm. `sign_…`: ID tokens and other statements to a client that is
 * registered for another algorithm; never access tokens. Every kind has a key, so that every algorithm can be
 * advertised and the algorithm of access tokens can change without a gap.
 */
export type SigningKind = 'sign' | 'sign_es256' | 'sign_rs256' | 'sign_eddsa'

export type SigningKey = {
  kind: SigningKind
  id: string
  algorithm: SigningAlgorithm
  startsAt: number
  privateKey: KeyObject
  publicKey: KeyObject
  /** as published in the JWK Set (RFC 7517) */
  publicJwk: Record<string, unknown>
}

/** A new private key as PKCS #8 bytes. A thread generates the key, because an RSA key takes a tenth of a second or more. */
export async function newSigningMaterial(algorithm: SigningAlgorithm): Promise<Uint8Array> {
  return new Uint8Array((await newPrivateKey(algorithm)).export({ format: 'der', type: 'pkcs8' }))
}

function newPrivateKey(algorithm: SigningAlgorithm): Promise<KeyObject> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, _: KeyObject, privateKey: KeyObject) => (error ? reject(error) : resolve(privateKey))
    switch (algorithm) {
      case 'ES256':
        return generateKeyPair('ec', { namedCurve: 'P-256' }, done)
      case 'EdDSA':
        return generateKeyPair('ed25519', undefined, done)
      case 'RS256':
        return generateKeyPair('rsa', { modulusLength: 2048 }, done)
    }
  })
}

export function openSigningKey(
  material: Uint8Array,
  id: string,
  algorithm: SigningAlgorithm,
  startsAt: number,
  kind: SigningKind = 'sign',
): SigningKey {
  const privateKey = createPrivateKey({ key: Buffer.from(material), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey)
  const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid: id, alg: algorithm, use: 'sig' }
  return { kind, id, algorithm, startsAt, privateKey, publicKey, publicJwk }
}
