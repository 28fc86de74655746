/**
 * Client credentials in `Authorization: Basic` (RFC 7617). The id and the secret are form-urlencoded before they are
 * joined (RFC 6749 §2.3.1).
 */
export type BasicCredentials = { kind: 'absent' } | { kind: 'malformed' } | { kind: 'credentials'; id: string; secret: string }

const SCHEME = /^basic(?: +|$)/i
// Fatal: otherwise two different secrets could both be read as one with U+FFFD in it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads the header's value. Another scheme is `malformed`, because a client that sends one intends to authenticate. */
export function parseBasicCredentials(authorization: string | undefined): BasicCredentials {
  if (authorization === undefined) return { kind: 'absent' }
  const scheme = SCHEME.exec(authorization)
  const encoded = scheme ? authorization.slice(scheme[0].length) : ''
  const bytes = Buffer.from(encoded, 'base64')
  // Buffer skips characters that are not base64. Only the canonical spelling is accepted (RFC 4648 §4), or the same
  // without padding.
  const padded = bytes.toString('base64')
  if (padded !== encoded && padded.replaceAll('=', '') !== encoded) return { kind: 'malformed' }
  const pair = bytes.toString('latin1')
  const colon = pair.indexOf(':')
  if (colon < 0) return { kind: 'malformed' }
  const id = decodeCredential(pair.slice(0, colon))
  const secret = decodeCredential(pair.slice(colon + 1))
  return id === null || secret === null || id === '' ? { kind: 'malformed' } : { kind: 'credentials', id, secret }
}

// Ids and secrets that the service issued need no decoding.
const PLAIN = /^[A-Za-z0-9\-._~]*$/

function decodeCredential(part: string): string | null {
  if (PLAIN.test(part)) return part
  try {
    return decodeURIComponent(utf8.decode(Buffer.from(part, 'latin1')).replaceAll('+', ' '))
  } catch {
    return null
  }
}
