/**
 * Claims of the platform in access tokens, from the answer of the operator's hook. A name is an https URL, which is collision-resistant
 * (RFC 7519 §4.2). No registered claim has such a name, and neither has a claim of this service.
 */

/** by name */
export type PlatformClaims = { readonly [name: `https://${string}`]: unknown }

/** by the resource whose access tokens have the claims */
export type ClaimsByResource = Readonly<Record<string, PlatformClaims>>

/** Bytes of all claims of an answer as JSON. A code contains them, in a URL. */
const CLAIMS_AT_MOST = 1024

/** Null if a resource is not one of `resources`, if a name is not one of the platform, or if the claims are too long. */
export function readClaims(value: unknown, resources: readonly string[]): ClaimsByResource | null {
  if (!isObject(value) || Buffer.byteLength(JSON.stringify(value)) > CLAIMS_AT_MOST) return null
  const isRight = Object.entries(value).every(
    ([resource, claims]) => resources.includes(resource) && isObject(claims) && Object.keys(claims).every(isPlatformName),
  )
  return isRight ? (value as ClaimsByResource) : null
}

/** The claims of the platform in a token. */
export function platformClaimsOf(claims: object): PlatformClaims {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => isPlatformName(name)))
}

function isPlatformName(name: string): name is `https://${string}` {
  // `URL` accepts spaces and control characters at the ends.
  return name.startsWith('https://') && /^[\x21-\x7e]+$/.test(name) && URL.canParse(name)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
