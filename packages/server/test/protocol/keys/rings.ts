/** Key rings for tests, without a store. */
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import type { AccessTokenClaims } from '../../../src/protocol/keys/access-token-claims.ts'
import { type KeyKind, KeyRing, type OpenKey } from '../../../src/protocol/keys/key-ring.ts'
import { openSecretKey } from '../../../src/protocol/keys/secret-key.ts'
import { openSigningKey, type SigningAlgorithm } from '../../../src/protocol/keys/signing-key.ts'

export const NOW = 1_800_000_000
export const ISSUER = 'https://auth.example.com'

/** The claims of an access token that is valid at `NOW`. */
export const someClaims = (more: Partial<AccessTokenClaims> = {}): AccessTokenClaims => ({
  iss: ISSUER,
  sub: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  aud: 'https://api.example.com/',
  client_id: 'client',
  exp: NOW + 600,
  iat: NOW,
  jti: randomUUID(),
  scope: 'enhancement',
  grant_id: 'grant',
  ...more,
})

export function newKey(kind: KeyKind, startsAt = NOW, algorithm: SigningAlgorithm = 'ES256'): OpenKey {
  const id = randomBytes(5).toString('hex')
  if (kind === 'seal' || kind === 'mac') return openSecretKey(randomBytes(32), kind, id, startsAt)
  return openSigningKey(materialOf(algorithm), id, algorithm, startsAt, kind)
}

function materialOf(algorithm: SigningAlgorithm): Uint8Array {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : algorithm === 'EdDSA'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return privateKey.export({ format: 'der', type: 'pkcs8' })
}

/** A ring of the given keys, by default one of each kind, with a clock that stands still. */
export function ringOf(keys = [newKey('sign'), newKey('seal'), newKey('mac')], now = (): number => NOW): KeyRing {
  const ring = new KeyRing(now)
  ring.replace(keys)
  return ring
}
