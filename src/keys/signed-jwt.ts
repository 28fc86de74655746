/**
 * JSON Web Tokens of this service's own signing keys (RFC 7515, RFC 7519).
 *
 * Written on `node:crypto` rather than on WebCrypto: one synchronous signature is the whole cost of a token, and a
 * token is only ever opened with the algorithm of the key it names, so `alg` is never the sender's choice.
 */
import { sign, verify } from 'node:crypto'
import { signEs256, verifyEs256 } from './es256.ts'
import type { SigningKey } from './key-ring.ts'

/** Longer ones are not looked at. */
export const TOKEN_AT_MOST = 8192

/** `typ` says what the token is (RFC 8725 §3.11): one made for one purpose never passes for another. */
export function signJwt(key: SigningKey, typ: string, claims: object): string {
  // OpenID Connect Core §10.1: "a kid value MUST be provided" where the set has several keys
  const header = { typ, alg: key.algorithm, kid: key.id }
  const input = `${encodePart(header)}.${encodePart(claims)}`
  return `${input}.${signatureOf(key, Buffer.from(input)).toString('base64url')}`
}

/** The claims of a token of this `typ` that one of our keys signed, whatever its age; undefined for anything else. */
export function openJwt(findKey: (id: string) => SigningKey | undefined, typ: string, token: string): object | undefined {
  const [head, body, signature, ...rest] = token.split('.')
  if (!head || !body || !signature || rest.length > 0 || token.length > TOKEN_AT_MOST) return undefined
  const header = decodePart(head)
  if (typeof header?.kid !== 'string') return undefined
  const key = findKey(header.kid)
  if (!key || header.alg !== key.algorithm || header.typ !== typ) return undefined
  const signed = Buffer.from(signature, 'base64url')
  // One spelling each: the cache and a resource server must see the same text for the same token.
  if (signed.toString('base64url') !== signature) return undefined
  return signatureHolds(key, Buffer.from(`${head}.${body}`), signed) ? decodePart(body) : undefined
}

function signatureOf(key: SigningKey, input: Buffer): Buffer {
  switch (key.algorithm) {
    case 'EdDSA':
      return sign(null, input, key.privateKey)
    case 'ES256':
      return signEs256(input, key.privateKey)
    case 'RS256':
      return sign('sha256', input, key.privateKey)
  }
}

function signatureHolds(key: SigningKey, input: Buffer, signature: Buffer): boolean {
  switch (key.algorithm) {
    case 'EdDSA':
      return verify(null, input, key.publicKey, signature)
    case 'ES256':
      return verifyEs256(input, key.publicKey, signature)
    case 'RS256':
      return verify('sha256', input, key.publicKey, signature)
  }
}

function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function decodePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
