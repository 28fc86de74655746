/**
 * `request_uri` (RFC 9101 §5.2, RFC 9126 §2.2): the reference to a pushed request. The service never fetches a request
 * from a web address.
 */
const PUSHED = 'urn:ietf:params:oauth:request_uri:'
/** 256 random bits, which cannot be guessed (RFC 9126 §7.1) */
const ID = /^[A-Za-z0-9_-]{43}$/

export type RequestUri = { kind: 'pushed'; id: string } | { kind: 'malformed' } | { kind: 'address' }

export function requestUriOf(id: string): string {
  return PUSHED + id
}

export function parseRequestUri(text: string): RequestUri {
  if (!text.startsWith(PUSHED)) return { kind: 'address' }
  const id = text.slice(PUSHED.length)
  return ID.test(id) ? { kind: 'pushed', id } : { kind: 'malformed' }
}
