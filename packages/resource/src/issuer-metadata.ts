import { askIssuer } from './ask-issuer.ts'
import { refuse } from './resource-error.ts'

export interface IssuerMetadata {
  jwksUri: URL
  /** Absent if the server has no such endpoint (RFC 8414 §2). */
  introspectionEndpoint: URL | undefined
  /** The feed of endings; absent if the server has none. */
  endingsEndpoint: URL | undefined
  /** the endpoint for approvals */
  approvalsEndpoint: URL
}

/**
 * Finds the endpoints in the metadata of the issuer (RFC 8414 §3).
 *
 * The metadata are fetched for the first token and cached. A failure is not cached, so an API may start before its
 * issuer.
 */
export function createIssuerMetadata(issuer: string, ask: typeof fetch): () => Promise<IssuerMetadata> {
  let cached: Promise<IssuerMetadata> | undefined
  return () => {
    // One request for all concurrent callers.
    cached ??= readMetadata(issuer, ask).catch((error: unknown) => {
      cached = undefined
      throw error
    })
    return cached
  }
}

async function readMetadata(issuer: string, ask: typeof fetch): Promise<IssuerMetadata> {
  const answer = await askIssuer(ask, metadataUrl(issuer), { method: 'GET', headers: { accept: 'application/json' } })
  // RFC 8414 §3.3: the issuer "MUST be identical to the authorization server's issuer identifier value into which the
  // well-known URI string was inserted". Otherwise another server could impersonate this issuer.
  if (answer.issuer !== issuer) throw refuse.unavailable('issuer_mismatch')
  const jwksUri = endpointUrl(answer.jwks_uri)
  if (!jwksUri) throw refuse.unavailable('jwks_uri_unusable')
  return {
    jwksUri,
    introspectionEndpoint: endpointUrl(answer.introspection_endpoint),
    endingsEndpoint: endpointUrl(answer.endings_endpoint),
    approvalsEndpoint: endpointUrl(answer.approvals_endpoint) ?? new URL(`${issuer}/oauth/approvals`),
  }
}

/**
 * RFC 8414 §3.1: the well-known path is inserted between the host and the issuer's path, without the path's terminating
 * "/".
 */
function metadataUrl(issuer: string): URL {
  const { origin, pathname } = new URL(issuer)
  return new URL(`${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`)
}

function endpointUrl(value: unknown): URL | undefined {
  return typeof value === 'string' && isSecureUrl(value) ? new URL(value) : undefined
}

/** https, or plain http to this machine only: keys and credentials are sent to this address. */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
}
