/** Signing keys: made, written down, read back (RFC 7517, RFC 7518, RFC 8037). */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { SigningKey, SigningKind } from './key-ring.ts'

/** ES256 unless set, and asymmetric all of them (RFC 9068 §4). RFC 9068 §2.1 and OpenID Connect Core §15.1 want RS256 to be among them. */
export type SigningAlgorithm = 'ES256' | 'EdDSA' | 'RS256'

/** A fresh private key as PKCS #8 bytes. */
export function newSigningMaterial(algorithm: SigningAlgorithm): Uint8Array {
  return new Uint8Array(newPrivateKey(algorithm).export({ format: 'der', type: 'pkcs8' }))
}

function newPrivateKey(algorithm: SigningAlgorithm): KeyObject {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    case 'EdDSA':
      return generateKeyPairSync('ed25519').privateKey
    case 'RS256':
      return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  }
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
