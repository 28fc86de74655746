/**
 * DPoP proofs (RFC 9449 §4): a small JWT in which a caller proves, for one request, possession of a private key. Both
 * the authorization server and resource servers check proofs, by the twelve points of §4.3.
 *
 * The caller of this module checks whether a proof was used before, because that needs a store.
 */
import { createHash, type KeyObject } from 'node:crypto'
import { clientJwtHolds, readClientJwt } from './client-jwt.ts'
import { normalizeHttpUri } from './http-uri.ts'
import { openPublicJwk } from './public-jwk.ts'

/** Seconds in which a proof is accepted, and by which the maker's clock may be ahead (§11.1: "a relatively brief period"). */
const PROOF_LIFETIME = 60
const PROOF_AHEAD_BY_AT_MOST = 10
const JTI_AT_MOST = 256

/** The values that a proof must match. */
export type ExpectedProof = {
  method: string
  /** the address that was called, from the configuration and never from the request */
  url: string
  /** the access token that the request presents; null if there is none */
  accessToken: string | null
  /** epoch seconds */
  at: number
  /**
   * When a nonce of this service expires, or null for any other nonce. If absent, `iat` alone decides whether a proof
   * is fresh.
   */
  nonceEndsAt?: ((nonce: string) => number | null) | undefined
}

export type DpopProof = {
  /** RFC 7638 thumbprint (SHA-256) of the proven key */
  jkt: string
  /** identifies this proof at this address in the record of used proofs (§11.1); base64url of a SHA-256 */
  useHash: string
  /** from then on this proof is refused, used or not */
  expiresAt: number
}

/** Why a proof was refused; for the log. */
export type ProofFault =
  | 'proof_repeated'
  | 'proof_malformed'
  | 'proof_type_wrong'
  | 'proof_key_unusable'
  | 'proof_jti_missing'
  | 'proof_method_wrong'
  | 'proof_address_wrong'
  | 'proof_iat_missing'
  | 'proof_of_another_token'
  | 'proof_signature_wrong'
  | 'proof_of_the_future'
  | 'proof_expired'

export type ProofVerdict =
  | { kind: 'holds'; proof: DpopProof }
  /** the proof lacks a fresh nonce of this service (§8) and is otherwise correct */
  | { kind: 'nonce_wanted' }
  | { kind: 'refused'; reason: ProofFault }

/** `proofs`: every `DPoP` field of the request. §4.3 point 1: "There is not more than one". */
export function checkDpopProof(proofs: readonly string[], expected: ExpectedProof): ProofVerdict {
  const [text = '', ...more] = proofs
  if (more.length > 0) return refuseProof('proof_repeated')
  const jwt = readClientJwt(text)
  if (!jwt) return refuseProof('proof_malformed')
  // §11.5: a JWT that was made for another purpose is not a proof
  if (jwt.typ !== 'dpop+jwt') return refuseProof('proof_type_wrong')
  // Points 5 and 7, §11.6: an asymmetric public key for signatures, without the private part. The key determines the
  // algorithm.
  const key = openPublicJwk(jwt.jwk)
  if (typeof key === 'string') return refuseProof('proof_key_unusable')

  const { jti, htm, htu, iat, ath, nonce } = jwt.claims
  if (typeof jti !== 'string' || jti === '' || jti.length > JTI_AT_MOST) return refuseProof('proof_jti_missing')
  if (htm !== expected.method) return refuseProof('proof_method_wrong')
  const url = normalizeHttpUri(expected.url)
  if (url === null || typeof htu !== 'string' || normalizeHttpUri(htu) !== url) return refuseProof('proof_address_wrong')
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return refuseProof('proof_iat_missing')
  // Point 12
  if (expected.accessToken !== null && ath !== hashOf(expected.accessToken)) return refuseProof('proof_of_another_token')
  // The header has exactly one key, so `kid`, which distinguishes the keys of a set, is ignored.
  if (!clientJwtHolds({ ...jwt, kid: null }, [{ ...key, kid: null }])) return refuseProof('proof_signature_wrong')

  const expiresAt = freshUntil(iat, nonce, expected)
  if (typeof expiresAt !== 'number') return expiresAt
  const jkt = thumbprintOf(key.publicKey)
  return { kind: 'holds', proof: { jkt, useHash: hashOf(`${jkt}\0${url}\0${jti}`), expiresAt } }
}

/**
 * Point 11: a proof is fresh by its `iat`. If the service requires nonces (§11.3), the time of the nonce decides
 * instead, so the clock of the proof's maker does not matter.
 */
function freshUntil(iat: number, nonce: unknown, { at, nonceEndsAt }: ExpectedProof): number | ProofVerdict {
  if (nonceEndsAt) return (typeof nonce === 'string' && nonceEndsAt(nonce)) || { kind: 'nonce_wanted' }
  if (iat > at + PROOF_AHEAD_BY_AT_MOST) return refuseProof('proof_of_the_future')
  if (iat < at - PROOF_LIFETIME) return refuseProof('proof_expired')
  return Math.floor(iat) + PROOF_LIFETIME + 1
}

/** RFC 7638 §3.2, over the members as Node exports them, in one spelling for each key. */
function thumbprintOf(publicKey: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicKey.export({ format: 'jwk' })
  const required = { RSA: { e, kty, n }, EC: { crv, kty, x, y }, OKP: { crv, kty, x } }[kty ?? '']
  return hashOf(JSON.stringify(required))
}

/** Base64url of the SHA-256, the form of thumbprints and `ath`. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function refuseProof(reason: ProofFault): ProofVerdict {
  return { kind: 'refused', reason }
}
