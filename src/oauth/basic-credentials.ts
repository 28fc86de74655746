/**
 * Client credentials in `Authorization: Basic` (RFC 7617), id and secret each form-urlencoded first (RFC 6749 §2.3.1).
 */
export type BasicCredentials = { kind: 'absent' } | { kind: 'malformed' } | { kind: 'credentials'; id: string; secret: string }

const SCHEME = /^basic(?: +|$)/i
// token68 with base64's alphabet: Buffer would skip over anything else, and two spellings would be one credential.
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Reads the header's value; another scheme is `malformed`, because a client that sent it meant to authenticate. */
export function parseBasicCredentials(authorization: string | undefined): BasicCredentials {
  if (authorization === undefined) return { kind: 'absent' }
  const scheme = SCHEME.exec(authorization)
  const encoded = scheme ? authorization.slice(scheme[0].length) : ''
  if (!BASE64.test(encoded) || encoded.length % 4 === 1) return { kind: 'malformed' }
  const pair = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = pair.indexOf(':')
  if (colon < 0) return { kind: 'malformed' }
  const id = decodeCredential(pair.slice(0, colon))
  const secret = decodeCredential(pair.slice(colon + 1))
  return id === null || secret === null || id === '' ? { kind: 'malformed' } : { kind: 'credentials', id, secret }
}

function decodeCredential(part: string): string | null {
  try {
    return decodeURIComponent(Buffer.from(part, 'latin1').toString('utf8').replaceAll('+', ' '))
  } catch {
    return null
  }
}
