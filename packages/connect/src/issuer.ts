/** The issuer. Throws if it has a final slash: no response would have this `iss`, which is compared byte for byte (RFC 9207 §2.4). */
export function requireIssuer(issuer: string): string {
  if (issuer.endsWith('/')) throw new TypeError(`issuer must have no final slash: ${issuer}`)
  return issuer
}
