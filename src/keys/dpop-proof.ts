/**
 * DPoP proofs (RFC 9449 §4): a small JWT in which whoever calls shows, for this one call, that the private key of a public
 * key is theirs. Both who issues tokens and who takes them check proofs, by the twelve points of §4.3.
 *
 * What only a store can tell, whether a proof was used before, is left to whoever asks.
 */
import { createHash, type KeyObject } from 'node:crypto'
import { normalizeHttpUri } from '../oauth/http-uri.ts'
import type { ReasonOf } from '../oauth/reasons.ts'
import { clientJwtHolds, readClientJwt } from './client-jwt.ts'
import { openPublicJwk } from './public-jwk.ts'

/** Seconds a proof is good for, and by which its maker's clock may be ahead (§11.1: "a relatively brief period"). */
const PROOF_LIFETIME = 60
const PROOF_AHEAD_BY_AT_MOST = 10
const JTI_AT_MOST = 256

/** What a proof must be of, and for. */
export type ExpectedProof = {
  method: string
  /** the address that was called, as configured, never as the request names it */
  url: string
  /** the access token beside it; null where there is none */
  accessToken: string | null
  /** epoch seconds */
  at: number
  /** When a nonce of ours ends, or null for any other; absent where time alone says how fresh a proof is. */
  nonceEndsAt?: ((nonce: string) => number | null) | undefined
}

export type DpopProof = {
  /** RFC 7638 thumbprint (SHA-256) of the key that was shown */
  jkt: string
  /** what one use of it is remembered by, for where it was meant for (§11.1), in base64url of a SHA-256 */
  useHash: string
  /** from then on no such proof is taken any more, used or not */
  expiresAt: number
}

/** Why a proof does not hold; for the log. */
type ProofFault = ReasonOf<'invalid_dpop_proof'>

export type ProofVerdict =
  | { kind: 'holds'; proof: DpopProof }
  /** it lacks a nonce of ours that is young enough (§8), and nothing else */
  | { kind: 'nonce_wanted' }
  | { kind: 'refused'; reason: ProofFault }

/** `proofs`: every `DPoP` field of the request. §4.3 point 1: "There is not more than one". */
export function checkDpopProof(proofs: readonly string[], expected: ExpectedProof): ProofVerdict {
  const [text = '', ...more] = proofs
  if (more.length > 0) return refused('proof_repeated')
  const jwt = readClientJwt(text)
  if (!jwt) return refused('proof_malformed')
  // §11.5: what was made for another purpose is no proof
  if (jwt.typ !== 'dpop+jwt') return refused('proof_type_wrong')
  // Points 5 and 7, §11.6: an asymmetric key for signatures, without its private part. Its algorithm is the key's, never a choice.
  const key = openPublicJwk(jwt.jwk)
  if (typeof key === 'string') return refused('proof_key_unusable')

  const { jti, htm, htu, iat, ath, nonce } = jwt.claims
  if (typeof jti !== 'string' || jti === '' || jti.length > JTI_AT_MOST) return refused('proof_jti_missing')
  if (htm !== expected.method) return refused('proof_method_wrong')
  const url = normalizeHttpUri(expected.url)
  if (url === null || typeof htu !== 'string' || normalizeHttpUri(htu) !== url) return refused('proof_address_wrong')
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return refused('proof_iat_missing')
  // Point 12
  if (expected.accessToken !== null && ath !== hashOf(expected.accessToken)) return refused('proof_of_another_token')
  // One key, whatever it is called: `kid` tells keys of a set apart, and here is none.
  if (!clientJwtHolds({ ...jwt, kid: null }, [{ ...key, kid: null }])) return refused('proof_signature_wrong')

  const expiresAt = freshUntil(iat, nonce, expected)
  if (typeof expiresAt !== 'number') return expiresAt
  const jkt = thumbprintOf(key.publicKey)
  return { kind: 'holds', proof: { jkt, useHash: hashOf(`${jkt}\0${url}\0${jti}`), expiresAt } }
}

/** Point 11: by its `iat`, or, where we hand out nonces and take no proof without one (§11.3), by when we handed out its nonce, whatever its maker's clock says. */
function freshUntil(iat: number, nonce: unknown, { at, nonceEndsAt }: ExpectedProof): number | ProofVerdict {
  if (nonceEndsAt) return (typeof nonce === 'string' && nonceEndsAt(nonce)) || { kind: 'nonce_wanted' }
  if (iat > at + PROOF_AHEAD_BY_AT_MOST) return refused('proof_of_the_future')
  if (iat < at - PROOF_LIFETIME) return refused('proof_expired')
  return Math.floor(iat) + PROOF_LIFETIME + 1
}

/** RFC 7638 §3.2, over the members as Node writes them: one spelling for each key. */
function thumbprintOf(publicKey: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicKey.export({ format: 'jwk' })
  const required = { RSA: { e, kty, n }, EC: { crv, kty, x, y }, OKP: { crv, kty, x } }[kty ?? '']
  return hashOf(JSON.stringify(required))
}

/** Base64url of the SHA-256, as thumbprints and `ath` are written. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function refused(reason: ProofFault): ProofVerdict {
  return { kind: 'refused', reason }
}
