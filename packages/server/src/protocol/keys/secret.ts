/**
 * Client secrets: 256 random bits, stored as one SHA-256. A slow hash would add nothing, because random secrets cannot
 * be guessed.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * A new secret of `[A-Za-z0-9_-]`, which cannot be guessed (RFC 6749 §10.10) and which form-urlencoding does not change
 * (RFC 6749 §2.3.1).
 */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** Whether a text is a hash as `hashSecret` returns it: 256 bits in base64url. `secretMatches` compares hashes of this length only. */
export function isSecretHash(text: string): boolean {
  return /^[\w-]{43}$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text
}

// The hash of a secret that no client has. The comparison with this hash makes sure that an unknown client takes as
// long as a wrong secret.
const DUMMY_HASH = hashSecret(newSecret())

/**
 * Whether the secret is one of the stored secrets. The function compares hashes: their equal length makes the
 * comparison constant-time (OpenID Connect Core §16.12).
 */
export function secretMatches(secret: string, secretHashes: readonly string[]): boolean {
  const presented = Buffer.from(hashSecret(secret))
  let matches = false
  for (const storedHash of secretHashes.length > 0 ? secretHashes : [DUMMY_HASH]) {
    matches = timingSafeEqual(presented, Buffer.from(storedHash)) || matches
  }
  return matches && secretHashes.length > 0
}
