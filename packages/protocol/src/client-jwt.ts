/**
 * JSON Web Tokens that clients sign with their own keys (RFC 7515): assertions, request objects, DPoP proofs. They are
 * parsed before the signature is checked, because the claims name the client whose keys apply. The claims are
 * unverified until `clientJwtHolds` returns true.
 *
 * A key has one algorithm, whatever a header contains. Keys in a header (`jwk`, `x5c`, `jku`, `x5u`) are ignored; only
 * a DPoP proof uses the key in its header.
 */
import { constants, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { verifyEs256 } from './es256.ts'
import type { ClientKey } from './public-jwk.ts'

/** Longer tokens are refused: a form has 16 KiB in all. */
const JWT_AT_MOST = 12_000

/** Unverified: a caller can write anything here. */
export type ClaimedJwt = {
  typ: string | null
  alg: string
  kid: string | null
  /** the key in the header, which proves only that the caller has this key (RFC 9449 §4.2) */
  jwk: unknown
  claims: Record<string, unknown>
  signed: Buffer
  signature: Buffer
}

export function readClientJwt(text: string): ClaimedJwt | null {
  if (text.length > JWT_AT_MOST) return null
  const [head, body, tail, ...rest] = text.split('.', 4)
  if (!head || !body || !tail || rest.length > 0) return null
  const [header, claims, signature] = [decodeObject(head), decodeObject(body), decodePart(tail)]
  if (!header || !claims || !signature) return null
  const { typ = null, alg, kid = null, jwk, crit, b64 } = header
  // RFC 7515 §4.1.11: `crit` lists extensions that must be understood. No extension is supported.
  if (crit !== undefined || b64 !== undefined) return null
  if (typeof alg !== 'string' || !isTextOrNull(typ) || !isTextOrNull(kid)) return null
  return { typ: mediaType(typ), alg, kid, jwk, claims, signed: Buffer.from(`${head}.${body}`), signature }
}

/**
 * Whether one of these keys made the signature. If the token names a `kid`, only keys with this `kid` count (RFC 7515
 * §4.1.4). If no key fits, one signature is checked with a dummy key: the response time must not show whether the
 * issuer is registered, and with which keys.
 */
export function clientJwtHolds(jwt: ClaimedJwt, keys: readonly ClientKey[]): boolean {
  const algorithm = algorithmOf(jwt.alg)
  const fitting = keys.filter((key) => key.algorithm === algorithm && (jwt.kid === null || key.kid === jwt.kid))
  if (fitting.length > 0) return fitting.some((key) => signatureHolds(key, jwt))
  const dummy = DUMMY_KEYS.find((key) => key.algorithm === algorithm)
  if (dummy) signatureHolds(dummy, jwt)
  return false
}

/**
 * An odd number of 2048 bits that is not the modulus of any key. A check against it takes as long as a check against a
 * real modulus.
 */
const DUMMY_RSA_KEY = { kty: 'RSA', n: Buffer.alloc(256, 0xff).toString('base64url'), e: 'AQAB' }
/** Keys that never signed anything, one for each algorithm. */
const DUMMY_KEYS: ClientKey[] = [
  { kid: null, algorithm: 'ES256', publicKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey },
  { kid: null, algorithm: 'EdDSA', publicKey: generateKeyPairSync('ed25519').publicKey },
  { kid: null, algorithm: 'PS256', publicKey: createPublicKey({ key: DUMMY_RSA_KEY, format: 'jwk' }) },
]

/** RFC 9864 §2.2: `Ed25519` is the same algorithm as `EdDSA` here. */
function algorithmOf(alg: string): string {
  return alg === 'Ed25519' ? 'EdDSA' : alg
}

function signatureHolds({ algorithm, publicKey }: ClientKey, { signed, signature }: ClaimedJwt): boolean {
  switch (algorithm) {
    case 'ES256':
      return verifyEs256(signed, publicKey, signature)
    case 'PS256': {
      // RFC 7518 §3.5: the salt is as long as the hash.
      const padding = constants.RSA_PKCS1_PSS_PADDING
      return verify('sha256', signed, { key: publicKey, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }, signature)
    }
    case 'EdDSA':
      return verify(null, signed, publicKey, signature)
    case 'RS256':
      return verify('sha256', signed, publicKey, signature)
  }
}

/** RFC 7515 §4.1.9: `typ` may leave out `application/`, and case does not matter. */
function mediaType(typ: string | null): string | null {
  return typ?.toLowerCase().replace(/^application\//, '') ?? null
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

function decodeObject(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(decodePart(part) ?? undefined))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Only the canonical spelling: trailing bits that base64url ignores, and other alphabets, are refused. */
function decodePart(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : null
}
