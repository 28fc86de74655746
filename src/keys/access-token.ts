/**
 * Access tokens as signed JWTs (RFC 9068, RFC 7515).
 *
 * Written on `node:crypto` rather than on WebCrypto: one synchronous signature is the whole cost of a token, and a
 * token is only ever opened with the algorithm of the key it names, so `alg` is never the sender's choice.
 */
import { sign, verify } from 'node:crypto'
import { derSignatureOf, joseSignatureOf } from './dsa-encoding.ts'
import type { KeyRing, SigningKey } from './key-ring.ts'

/** RFC 9068 §2.2, and the grant the token belongs to. Times in epoch seconds. */
export type AccessTokenClaims = {
  iss: string
  sub: string
  aud: string
  client_id: string
  exp: number
  iat: number
  jti: string
  scope: string
  grant_id: string
}

export function signAccessToken(ring: KeyRing, claims: AccessTokenClaims): string {
  const key = ring.maker('sign')
  const input = `${headerOf(key)}.${encodePart(claims)}`
  return `${input}.${signatureOf(key, Buffer.from(input)).toString('base64url')}`
}

/** The claims of a token this service signed for this issuer, whatever its age; undefined for anything else. */
export function openAccessToken(ring: KeyRing, issuer: string, token: string): AccessTokenClaims | undefined {
  if (token.length > 8192) return undefined
  const name = ring.verified.nameOf(token)
  const known = ring.verified.find(name)
  const claims = known ?? verifiedClaims(ring, token)
  if (!claims) return undefined
  if (!known) ring.verified.remember(name, claims)
  return claims.iss === issuer ? claims : undefined
}

function verifiedClaims(ring: KeyRing, token: string): AccessTokenClaims | undefined {
  const [head, body, signature, ...rest] = token.split('.')
  if (!head || !body || !signature || rest.length > 0) return undefined
  const header = decodePart(head) as { typ?: unknown; alg?: unknown; kid?: unknown } | undefined
  if (typeof header?.kid !== 'string') return undefined
  const key = ring.opener('sign', header.kid)
  if (!key || header.alg !== key.algorithm || header.typ !== 'at+jwt') return undefined
  const signed = Buffer.from(signature, 'base64url')
  // One spelling each: the cache and a resource server must see the same text for the same token.
  if (signed.toString('base64url') !== signature) return undefined
  if (!signatureHolds(key, Buffer.from(`${head}.${body}`), signed)) return undefined
  return decodePart(body) as AccessTokenClaims | undefined
}

const headers = new WeakMap<SigningKey, string>()

/** The first part of every token a key signs. */
function headerOf(key: SigningKey): string {
  const known = headers.get(key)
  if (known !== undefined) return known
  const header = encodePart({ typ: 'at+jwt', alg: key.algorithm, kid: key.id })
  headers.set(key, header)
  return header
}

function signatureOf(key: SigningKey, input: Buffer): Buffer {
  switch (key.algorithm) {
    case 'EdDSA':
      return sign(null, input, key.privateKey)
    case 'ES256':
      return joseSignatureOf(sign('sha256', input, key.privateKey))
    case 'RS256':
      return sign('sha256', input, key.privateKey)
  }
}

function signatureHolds(key: SigningKey, input: Buffer, signature: Buffer): boolean {
  switch (key.algorithm) {
    case 'EdDSA':
      return verify(null, input, key.publicKey, signature)
    case 'ES256': {
      const der = derSignatureOf(signature)
      return der !== undefined && verify('sha256', input, key.publicKey, der)
    }
    case 'RS256':
      return verify('sha256', input, key.publicKey, signature)
  }
}

function encodePart(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function decodePart(part: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
