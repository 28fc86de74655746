/** The response of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3). */
import { randomUUID } from 'node:crypto'
import { signAccessToken } from '../../protocol/keys/access-token.ts'
import type { ClaimsByResource } from '../../protocol/keys/platform-claims.ts'
import type { SigningKey } from '../../protocol/keys/signing-key.ts'
import { invalidGrant, invalidScope } from '../../protocol/oauth/oauth-error.ts'
import { accessTokenLifetime } from '../model/client-lifetimes.ts'
import type { Deps } from '../model/deps.ts'
import { grantedAt } from '../model/granted-scopes.ts'
import type { Client, Grant } from '../model/records.ts'
import { mayHave, scopesAt } from '../resources/scopes-at.ts'
import { acrOf, makeIdToken } from './id-token.ts'
import { makeRefreshToken } from './refresh-token.ts'
import { signingKeyOf } from './signing-key.ts'

export type TokenResponse = {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  /** seconds */
  expires_in: number
  refresh_token?: string
  id_token?: string
  scope: string
  /** of an exchanged token (RFC 8693 §2.2.1) */
  issued_token_type?: string
}

/** What the tokens of one response contain. The scopes and the resource are never more than the grant allows. */
export type TokenContents = {
  scopes: string[]
  resource: string | null
  /** from the operator's hook; an access token has those of the token's resource */
  claims: ClaimsByResource | null
  /** the key that the access token is bound to (RFC 9449 §6) */
  binding: { jkt: string } | null
  /** the `nonce` of the authorization request, for the ID token */
  nonce: string | null
  /** the result of `findIdTokenKey` */
  idTokenKey: SigningKey | null
}

/** The key that signs the ID token; null if the scopes do not include `openid`. Throws if the key cannot sign yet. */
export function findIdTokenKey(deps: Deps, client: Client, scopes: string[]): SigningKey | null {
  return scopes.includes('openid') ? signingKeyOf(deps, client.idTokenAlgorithm) : null
}

/**
 * Mints an access token of a grant, and an ID token if `openid` was granted (OpenID Connect Core §3.1.3.2, §3.1.3.3). The response
 * also contains the grant's current refresh token.
 *
 * The access token has those scopes of the consent that belong to the resource and that the client is still registered for, and the
 * response names them (RFC 6749 §3.3, §10.3, RFC 9700 §2.3). The audience is one resource (RFC 8707 §2, RFC 9068 §3, §5, RFC 6750 §5.2,
 * §5.3, RFC 9700 §4.10, OpenID Connect Core §16.8).
 *
 * The code or the refresh token is already used at this point, so this function does no I/O that could fail. With scope
 * `profile`, it waits for the name of the account for 300 milliseconds at most.
 */
export async function mintTokens(deps: Deps, client: Client, grant: Grant, contents: TokenContents): Promise<TokenResponse> {
  const at = deps.now()
  // A token never outlives the grant.
  const lifetime = Math.min(accessTokenLifetime(deps.settings.lifetimes, client), grant.expiresAt - at)
  if (lifetime <= 0) throw invalidGrant('grant_expired')
  const { resource, scopes } = requireScopeLeft(deps, client, grant, contents)
  const scope = scopes.join(' ')
  const accessToken = signAccessToken(deps.keys, {
    ...contents.claims?.[resource],
    iss: deps.settings.authUrl,
    sub: grant.wallet,
    aud: resource,
    client_id: client.id,
    exp: at + lifetime,
    iat: at,
    jti: randomUUID(),
    scope,
    grant_id: grant.id,
    // RFC 9068 §2.2.1, for APIs that require a recent sign-in or a signature (RFC 9470 §6.1)
    auth_time: grant.authTime,
    acr: acrOf(grant),
    ...(contents.binding === null ? {} : { cnf: contents.binding }),
  })
  deps.activity.noteTokens(grant.wallet)
  const response: TokenResponse = {
    access_token: accessToken,
    // RFC 6750 §4, RFC 9449 §5
    token_type: contents.binding === null ? 'Bearer' : 'DPoP',
    expires_in: lifetime,
    // RFC 9700 §4.14.2: the operator decides which clients receive refresh tokens
    ...(client.grantTypes.includes('refresh_token') ? { refresh_token: refreshTokenOf(deps, grant) } : {}),
    scope,
  }
  const { nonce, idTokenKey: key } = contents
  if (!scopes.includes('openid') || key === null) return response
  return {
    ...response,
    id_token: await makeIdToken(deps, client, grant, { key, scopes, nonce, accessToken, expiresAt: at + lifetime }),
  }
}

type Granted = Pick<Grant, 'scopes' | 'resources' | 'scopesByResource'>

/**
 * The audience of the next token, and its scopes: those that were granted for this resource, that the resource still has, and that the
 * client is still registered for. RFC 8707 §2.2: if the request names no resource, the first resource of the grant that has a scope
 * left. Throws if no scope is left.
 */
export function requireScopeLeft(
  deps: Deps,
  client: Client,
  granted: Granted,
  { scopes, resource: named }: Pick<TokenContents, 'scopes' | 'resource'>,
): { resource: string; scopes: string[] } {
  const left = scopes.filter((scope) => mayHave(deps, client, scope))
  const { defaultResource } = deps.settings
  for (const resource of named === null ? (granted.resources.length > 0 ? granted.resources : [defaultResource]) : [named]) {
    const own = grantedAt(granted, resource)
    const scopesLeft = scopesAt(
      deps,
      client,
      resource,
      left.filter((scope) => own.includes(scope)),
    )
    if (scopesLeft.length > 0) return { resource, scopes: scopesLeft }
  }
  throw invalidScope('no_scope_left')
}

/** The current refresh token of the grant. Throws if the token's key is retired, as an operator does after a leak. */
function refreshTokenOf(deps: Deps, grant: Grant): string {
  const token = makeRefreshToken(deps.keys, { grantId: grant.id, generation: grant.generation }, grant.refreshKeyId)
  if (token === undefined) throw invalidGrant('refresh_key_retired')
  return token
}
