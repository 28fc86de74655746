/** The authorization request of a public client: PKCE (RFC 7636), `state` and `nonce`. */
import { requireIssuer } from './issuer.ts'
import { readMetadata } from './metadata.ts'

/** The registration of a public client, whose scripts run in a page. */
export type Connection = {
  /** the URL of the service, without a final slash: `https://auth.example.com` */
  issuer: string
  clientId: string
  /** the page that calls `handleCallback`, on the origin of this page; `/callback` unless given */
  redirectUri?: string
  /** names with a space between them; `openid wallet` unless given. `openid` is added if missing. */
  scope?: string
  /** the API of the access token (RFC 8707) */
  resource?: string
}

/** What the response is compared with. A page keeps this state in memory, or in session storage during a redirect. */
export type PendingSignIn = {
  issuer: string
  clientId: string
  redirectUri: string
  resource: string | null
  state: string
  nonce: string
  codeVerifier: string
}

export function beginSignIn({ issuer, clientId, redirectUri = '/callback', resource }: Connection): PendingSignIn {
  return {
    issuer: requireIssuer(issuer),
    clientId,
    redirectUri: new URL(redirectUri, location.origin).href,
    resource: resource ?? null,
    state: randomText(),
    nonce: randomText(),
    codeVerifier: randomText(),
  }
}

/** The URL of the request. */
export async function requestUrl(pending: PendingSignIn, scope = 'openid wallet', prompt?: 'none'): Promise<string> {
  const { authorization_endpoint } = await readMetadata(pending.issuer)
  const url = new URL(authorization_endpoint)
  const scopes = new Set(['openid', ...scope.split(' ').filter(Boolean)])
  const parameters = {
    response_type: 'code',
    client_id: pending.clientId,
    redirect_uri: pending.redirectUri,
    scope: [...scopes].join(' '),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await codeChallengeOf(pending.codeVerifier),
    code_challenge_method: 'S256',
    ...(pending.resource !== null && { resource: pending.resource }),
    ...(prompt && { prompt }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** 256 bits */
function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

async function codeChallengeOf(codeVerifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
