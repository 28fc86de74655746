export interface DecodedToken {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/**
 * The header and the claims of an access token, decoded and not verified, for the demonstration.
 *
 * An app should not depend on the content of an access token (RFC 9068 §6); the API checks the token. If the token is
 * opaque to its client (RFC 6749 §1.4), both are empty.
 */
export function decodeAccessToken(accessToken: string): DecodedToken {
  const [header, claims] = accessToken.split('.')
  return { header: decode(header), claims: decode(claims) }
}

function decode(part: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString())
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
