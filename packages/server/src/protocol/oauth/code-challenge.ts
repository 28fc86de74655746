/** Proof Key for Code Exchange (RFC 7636), method S256 only (RFC 7636 §7.2, RFC 9700 §2.1.1). */
import { createHash } from 'node:crypto'

/** §4.2: BASE64URL(SHA256(ASCII(code_verifier))), which is always 43 characters. */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** §4.1: 43 to 128 unreserved characters. */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9\-._~]{43,128}$/.test(text)
}

export function challengeOf(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier, 'ascii').digest('base64url')
}
