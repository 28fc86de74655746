import { askIssuer } from './ask-issuer.ts'
import type { Refusals } from './resource-error.ts'

export interface IssuerMetadata {
  jwksUri: URL
  /** Absent when the server has none (RFC 8414 §2). */
  introspectionEndpoint: URL | undefined
}

/**
 * Finds the issuer's endpoints through its metadata (RFC 8414 §3).
 *
 * Asked for at the first token and kept from then on; a failure is not kept, so an API may start before its issuer.
 */
export function createIssuerMetadata(issuer: string, ask: typeof fetch, refuse: Refusals): () => Promise<IssuerMetadata> {
  let known: Promise<IssuerMetadata> | undefined
  return () => {
    // One request for everybody who waits for it.
    known ??= readMetadata(issuer, ask, refuse).catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

async function readMetadata(issuer: string, ask: typeof fetch, refuse: Refusals): Promise<IssuerMetadata> {
  const answer = await askIssuer(ask, metadataUrl(issuer), { method: 'GET', headers: { accept: 'application/json' } }, refuse)
  // RFC 8414 §3.3: the issuer "MUST be identical to the authorization server's issuer identifier value into which the
  // well-known URI string was inserted", or another server could speak for this one.
  if (answer.issuer !== issuer) throw refuse.unavailable('issuer_mismatch')
  const jwksUri = endpointUrl(answer.jwks_uri)
  if (!jwksUri) throw refuse.unavailable('jwks_uri_unusable')
  return { jwksUri, introspectionEndpoint: endpointUrl(answer.introspection_endpoint) }
}

/** RFC 8414 §3.1: the well-known part goes between the host and the issuer's path, whose terminating "/" is removed. */
function metadataUrl(issuer: string): URL {
  const { origin, pathname } = new URL(issuer)
  return new URL(`${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`)
}

function endpointUrl(value: unknown): URL | undefined {
  return typeof value === 'string' && isSecureUrl(value) ? new URL(value) : undefined
}

/** https, or plain http to this machine alone: keys and credentials travel there. */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
}
