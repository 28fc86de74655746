/**
 * Public keys of clients, as JWKs (RFC 7517, RFC 7518 §6, RFC 8037). A client authenticates with the private key.
 * Private keys and shared secrets are refused here.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'

export type PublicJwk = Record<string, unknown>
export type JwkSet = { keys: PublicJwk[] }

/** The algorithms that registered clients may sign with: those of the FAPI 2.0 Security Profile §5.4.1. */
export const CLIENT_ALGORITHMS = ['ES256', 'PS256', 'EdDSA'] as const
/** RS256 only for clients with a metadata document: some of them cannot sign in another way. */
export type ClientAlgorithm = (typeof CLIENT_ALGORITHMS)[number] | 'RS256'

/** `rs256`: an RSA key whose `alg` is RS256 is used with RS256; all other RSA keys are used with PS256. */
export type KeyRules = 'registered' | 'rs256'

/** A public key of a client, imported, with the one algorithm of that key. */
export type ClientKey = { kid: string | null; algorithm: ClientAlgorithm; publicKey: KeyObject }

const RSA_BITS_AT_LEAST = 2048
/** Anonymous callers choose the keys of DPoP proofs, and a longer modulus makes each check slower. */
const RSA_BITS_AT_MOST = 4096
/**
 * 65537, as RFC 7518 §6.3.1.2 writes it. A longer exponent makes each check slower; with exponent 1 every text is its
 * own signature.
 */
const RSA_EXPONENT = 'AQAB'
const KEYS_AT_MOST = 20
/** Members of private and of symmetric keys (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Imports one JWK. If the key cannot be used, the result is a text with the reason. */
export function openPublicJwk(jwk: unknown, rules: KeyRules = 'registered'): ClientKey | string {
  if (!isRecord(jwk)) return 'is not a JWK (RFC 7517)'
  const { kid, kty, crv, alg, use, key_ops: operations } = jwk
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > 200)) return 'has a kid that is no short text'
  if (SECRET_MEMBERS.some((member) => member in jwk)) return 'holds a secret: register the public key only'
  if (use !== undefined && use !== 'sig') return 'is not for signatures (use)'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return 'is not for signatures (key_ops)'
  const algorithm = kty === 'RSA' && alg === 'RS256' && rules === 'rs256' ? 'RS256' : algorithmOf(kty, crv)
  if (algorithm === null) return 'is neither EC P-256, RSA nor Ed25519'
  // RFC 8037 §3.1 names the algorithm EdDSA, RFC 9864 §2.2 names the same algorithm Ed25519.
  if (alg !== undefined && alg !== algorithm && !(algorithm === 'EdDSA' && alg === 'Ed25519'))
    return `is for another algorithm than ${algorithm}`
  const publicKey = kty === 'RSA' ? openRsaKey(jwk) : importKey(jwk)
  if (publicKey === null) return 'is malformed'
  return typeof publicKey === 'string' ? publicKey : { kid: kid ?? null, algorithm, publicKey }
}

/** Checks the lengths before the key is imported, because the import of a long key takes long. */
function openRsaKey(jwk: PublicJwk): KeyObject | string | null {
  const { n: modulus, e: exponent } = jwk
  if (typeof modulus !== 'string' || typeof exponent !== 'string') return null
  if (exponent !== RSA_EXPONENT) return 'is an RSA key with another exponent than 65537'
  const publicKey = byteLength(modulus) * 8 > RSA_BITS_AT_MOST ? null : importKey(jwk)
  const bits = publicKey?.asymmetricKeyDetails?.modulusLength ?? byteLength(modulus) * 8
  if (bits >= RSA_BITS_AT_LEAST && bits <= RSA_BITS_AT_MOST) return publicKey
  return `is an RSA key of ${bits} bits; use ${RSA_BITS_AT_LEAST} to ${RSA_BITS_AT_MOST}`
}

/** Length of base64url text in bytes: four characters encode three bytes. */
function byteLength(encoded: string): number {
  return Math.floor((encoded.length * 3) / 4)
}

/** The keys of a set that can be used, and the `kid` of each key that cannot (RFC 7517 §5). */
export type OpenJwkSet = { keys: ClientKey[]; unusable: (string | null)[] }

/** Opens a JWK Set of a client. Null if the value is not a set. */
export function openJwkSet(set: unknown, rules: KeyRules = 'registered'): OpenJwkSet | null {
  const jwks = keysOf(set)?.slice(0, KEYS_AT_MOST)
  if (!jwks) return null
  const opened = jwks.map((jwk) => openPublicJwk(jwk, rules))
  return {
    keys: opened.filter((key) => typeof key !== 'string'),
    unusable: jwks.filter((_, index) => typeof opened[index] === 'string').map(kidOf),
  }
}

/** The reasons why a set cannot be registered; every key must be usable. */
export function jwkSetFaults(set: unknown, rules: KeyRules = 'registered'): string[] {
  const keys = keysOf(set)
  if (!keys) return ['is not a JWK Set: {"keys":[…]} (RFC 7517 section 5)']
  if (keys.length === 0) return ['has no keys']
  if (keys.length > KEYS_AT_MOST) return [`has more than ${KEYS_AT_MOST} keys`]
  const opened = keys.map((jwk) => openPublicJwk(jwk, rules))
  const faults = opened.flatMap((key, index) => (typeof key === 'string' ? [`: key ${index + 1} ${key}`] : []))
  const kids = opened.map((key) => (typeof key === 'string' ? null : key.kid))
  // RFC 7517 §4.5: the `kid` distinguishes the keys of a set, so each key of several needs a different `kid`.
  if (keys.length > 1 && new Set(kids).size < kids.length && faults.length === 0) faults.push(': each key needs a different kid')
  return faults
}

function keysOf(set: unknown): unknown[] | null {
  const keys = isRecord(set) ? set.keys : null
  return Array.isArray(keys) ? (keys as unknown[]) : null
}

function kidOf(jwk: unknown): string | null {
  return isRecord(jwk) && typeof jwk.kid === 'string' ? jwk.kid : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function algorithmOf(kty: unknown, crv: unknown): ClientAlgorithm | null {
  if (kty === 'RSA') return 'PS256'
  if (kty === 'EC' && crv === 'P-256') return 'ES256'
  return kty === 'OKP' && crv === 'Ed25519' ? 'EdDSA' : null
}

function importKey(jwk: PublicJwk): KeyObject | null {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return null
  }
}
