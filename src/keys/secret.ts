/** Client secrets: 256 random bits, kept as one SHA-256. A slow hash would add nothing: there is nothing to guess. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A fresh secret, which nobody guesses (RFC 6749 §10.10), of `[A-Za-z0-9_-]`, so form-urlencoding (RFC 6749 §2.3.1) leaves it as it is. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

// Nobody's secret: compared when there is no client, so that an unknown client takes as long as a wrong secret.
const DUMMY_HASH = hashSecret(newSecret())

/** Whether the secret is one of those kept. Compares hashes, not secrets: equal length makes the comparison constant-time (OpenID Connect Core §16.12). */
export function secretMatches(secret: string, secretHashes: readonly string[]): boolean {
  const presented = Buffer.from(hashSecret(secret))
  let matches = false
  for (const kept of secretHashes.length > 0 ? secretHashes : [DUMMY_HASH]) {
    matches = timingSafeEqual(presented, Buffer.from(kept)) || matches
  }
  return matches && secretHashes.length > 0
}
