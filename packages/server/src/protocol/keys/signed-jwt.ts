/**
 * JSON Web Tokens that this service signs with its own keys (RFC 7515, RFC 7519).
 *
 * The code uses `node:crypto` instead of WebCrypto, because one synchronous signature is the whole cost of a token. A
 * token is opened only with the algorithm of the key that it names, so the sender cannot choose `alg`.
 */
import { sign, verify } from 'node:crypto'
import { signEs256, verifyEs256 } from '@grantor/protocol/es256'
import type { SigningKey } from './signing-key.ts'

/** Longer tokens are refused. */
export const TOKEN_AT_MOST = 8192

/** What checks a signature. */
export type VerifyingKey = Pick<SigningKey, 'algorithm' | 'publicKey'>

/** `typ` names the kind of token (RFC 8725 §3.11): a token of one kind is never accepted as another. */
export function signJwt(key: SigningKey, typ: string, claims: object): string {
  // OpenID Connect Core §10.1: "a kid value MUST be provided" if the set has several keys
  const header = { typ, alg: key.algorithm, kid: key.id }
  const input = `${encodePart(header)}.${encodePart(claims)}`
  return `${input}.${signatureOf(key, Buffer.from(input)).toString('base64url')}`
}

/**
 * The claims of a token of this `typ` that one of our keys signed, whether or not it has expired; undefined for any
 * other text. `isPossible` refuses claims before the signature is checked, which takes ten times as long as everything else here.
 */
export function openJwt(
  findKey: (id: string) => VerifyingKey | undefined,
  typ: string,
  token: string,
  isPossible: (claims: object) => boolean = () => true,
): object | undefined {
  const [head, body, signature, ...rest] = token.split('.')
  if (!head || !body || !signature || rest.length > 0 || token.length > TOKEN_AT_MOST) return undefined
  const header = decodePart(head)
  if (typeof header?.kid !== 'string') return undefined
  const key = findKey(header.kid)
  if (!key || header.alg !== key.algorithm || header.typ !== typ) return undefined
  const signed = Buffer.from(signature, 'base64url')
  // Only the canonical spelling: the cache and a resource server must see the same text for the same token.
  if (signed.toString('base64url') !== signature) return undefined
  const claims = decodePart(body)
  if (!claims || !isPossible(claims)) return undefined
  return signatureHolds(key, Buffer.from(`${head}.${body}`), signed) ? claims : undefined
}

/** The claims of a token whose signature was verified before. */
export function claimsOf(token: string): object | undefined {
  return decodePart(token.slice(token.indexOf('.') + 1, token.lastIndexOf('.')))
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

function signatureHolds(key: VerifyingKey, input: Buffer, signature: Buffer): boolean {
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
