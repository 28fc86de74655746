/**
 * Access tokens as signed JWTs (RFC 9068, RFC 7515).
 *
 * Written on `node:crypto` rather than on WebCrypto: one synchronous signature is the whole cost of a token, and a
 * token is only ever opened with the algorithm of the key it names, so `alg` is never the sender's choice.
 */
import { sign, verify } from 'node:crypto'
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
  const header = { typ: 'at+jwt', alg: key.algorithm, kid: key.id }
  const input = `${encodePart(header)}.${encodePart(claims)}`
  return `${input}.${signatureOf(key, Buffer.from(input)).toString('base64url')}`
}

/** The claims of a token this service signed for this issuer, whatever its age; undefined for anything else. */
export function openAccessToken(ring: KeyRing, issuer: string, token: string): AccessTokenClaims | undefined {
  const [head, body, signature, ...rest] = token.split('.')
  if (!head || !body || !signature || rest.length > 0 || token.length > 8192) return undefined
  const header = decodePart(head) as { typ?: unknown; alg?: unknown; kid?: unknown } | undefined
  if (typeof header?.kid !== 'string') return undefined
  const key = ring.opener('sign', header.kid)
  if (!key || header.alg !== key.algorithm || header.typ !== 'at+jwt') return undefined
  const signed = Buffer.from(signature, 'base64url')
  // One spelling each: the cache and a resource server must see the same text for the same token.
  if (signed.toString('base64url') !== signature) return undefined
  if (!signatureHolds(key, Buffer.from(`${head}.${body}`), signed)) return undefined
  const claims = decodePart(body) as AccessTokenClaims | undefined
  return claims?.iss === issuer ? claims : undefined
}

function signatureOf(key: SigningKey, input: Buffer): Buffer {
  return key.algorithm === 'EdDSA'
    ? sign(null, input, key.privateKey)
    : sign('sha256', input, { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
}

function signatureHolds(key: SigningKey, input: Buffer, signature: Buffer): boolean {
  return key.algorithm === 'EdDSA'
    ? verify(null, input, key.publicKey, signature)
    : verify('sha256', input, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, signature)
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
