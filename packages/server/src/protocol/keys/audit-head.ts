/** Signed heads of the audit trail: a JWS that names the last line of the chain at one moment, and the hash of this line. */
import { createPublicKey } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'
import { openJwt, signJwt, type VerifyingKey } from './signed-jwt.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from './signing-key.ts'

/** `iat` is in epoch seconds. */
export type AuditHeadClaims = { iss: string; iat: number; seq: number; hash: string }

const TYPE = 'grantor-audit-head+jwt'

export function signAuditHead(ring: KeyRing, claims: AuditHeadClaims): string {
  return signJwt(ring.maker('sign'), TYPE, claims)
}

export type FindKey = (id: string) => VerifyingKey | undefined

/** `unknown_key`: the key is not among those that `findKey` finds, for example because the key was retired. */
export function openAuditHead(findKey: FindKey, head: string): AuditHeadClaims | 'unknown_key' | 'forged' {
  let isUnknown = false
  const find: FindKey = (id) => {
    const key = findKey(id)
    isUnknown = key === undefined
    return key
  }
  const claims = openJwt(find, TYPE, head)
  if (claims) return claims as AuditHeadClaims
  return isUnknown ? 'unknown_key' : 'forged'
}

/** The signing keys of a JWK Set (RFC 7517 §5), by their ids. Other keys are ignored. Throws if the text is no JWK Set. */
export function keysOfJwkSet(text: string): FindKey {
  const { keys } = JSON.parse(text) as { keys?: unknown }
  if (!Array.isArray(keys)) throw new TypeError('there is no list "keys"')
  const found = new Map<string, VerifyingKey>()
  for (const jwk of keys as { kid?: unknown; alg?: unknown }[]) {
    const algorithm = SIGNING_ALGORITHMS.find((each): each is SigningAlgorithm => each === jwk.alg)
    if (typeof jwk.kid !== 'string' || !algorithm) continue
    found.set(jwk.kid, { algorithm, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) })
  }
  return (id) => found.get(id)
}
