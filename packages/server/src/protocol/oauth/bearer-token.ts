/**
 * An access token as a request presents it (RFC 6750 §2, RFC 9449 §7.1). A token in the query is never read, because it
 * would appear in logs and browser histories (RFC 6750 §5.3, RFC 9700 §4.3.2).
 */

/** `DPoP`: the token comes with a proof of the key that it is bound to. */
export type TokenScheme = 'Bearer' | 'DPoP'

export type PresentedToken = { kind: 'token'; scheme: TokenScheme; token: string } | { kind: 'none' } | { kind: 'malformed' }

// RFC 6750 §2.1: b64token. RFC 9110 §11.1: the scheme is case-insensitive.
const CREDENTIALS = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i

/** Reads every `Authorization` field of the request and the form parameter `access_token` of its body (RFC 6750 §2.2). */
export function presentedToken(authorization: readonly string[], inBody: string | null): PresentedToken {
  const headers = authorization.filter((value) => /^(?:bearer|dpop)(?: |$)/i.test(value))
  // §2: "Clients MUST NOT use more than one method to transmit the token in each request."
  if (authorization.length > 1 || (headers.length > 0 && inBody !== null)) return { kind: 'malformed' }
  if (inBody !== null) return { kind: 'token', scheme: 'Bearer', token: inBody }
  const [header] = headers
  if (header === undefined) return { kind: 'none' }
  const [, scheme = '', token] = CREDENTIALS.exec(header) ?? []
  if (token === undefined) return { kind: 'malformed' }
  return { kind: 'token', scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', token }
}
