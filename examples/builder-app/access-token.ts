export interface DecodedToken {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/**
 * What an access token says, for a person to read: decoded, not verified.
 *
 * An app has no business with the inside of an access token (RFC 9068 §6); the API checks it. A token may also be
 * opaque to its client (RFC 6749 §1.4): then there is nothing to show.
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
