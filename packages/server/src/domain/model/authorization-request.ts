/**
 * A checked authorization request (RFC 6749 §4.1.1): where to send the response, and what the code would grant. Challenges and
 * confirmations contain the request, so the service does not store requests.
 */

import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import type { ResponseMode } from '../../protocol/oauth/response-mode.ts'
import type { UiLocale } from '../../protocol/oauth/ui-locales.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'
import type { ScopesByResource } from './records.ts'

export type AuthorizationRequest = {
  clientId: string
  redirectUri: string
  scopes: string[]
  resources: string[]
  /** the scopes of each resource; null if every resource has every scope */
  scopesByResource: ScopesByResource | null
  /** the limit of one of the scopes, the most that the wallet can sign; null if no scope has a limit */
  limit: ScopeLimit | null
  responseMode: ResponseMode
  /** percent-encoded, and returned unchanged; UTF-8 in every response mode except `query` */
  state: string | null
  /** true if a code comes with `iss` (RFC 9207 §2), the issuer of the metadata (§2.3): if the request has a `response_type`. Errors always have `iss` */
  answersIss: boolean
  codeChallenge: string | null
  /** copied to the ID token unchanged (OpenID Connect Core §3.1.2.1) */
  nonce: string | null
  /** the most seconds since the wallet signed in; null if the request has no limit, or after a login, which satisfies the limit */
  maxAge: number | null
  /** true if the wallet must have signed at the sign-in (`acr_values`); a session that the login server vouched for does not count */
  needsSignature: boolean
  /** the language of the pages that the app requests, of the supported ones; null if it requests none (OpenID Connect Core §3.1.2.1) */
  uiLocale: UiLocale | null
  /** the thumbprint of the key that the code is bound to (RFC 9449 §10) */
  dpopJkt: string | null
  /** the id of the pushed request (RFC 9126), which is spent when the code is issued */
  pushedId: string | null
  /** the wallet that the app expects; another wallet may sign in too, unless `onlyHinted` */
  loginHint: Address | null
  /** true if an ID token names the wallet (`id_token_hint`): then only this wallet gets a code */
  onlyHinted: boolean
}

/** The app that a page or a text names, and the language that the app requested for the page. */
export type RequestingApp = ClientPlace & { clientName: string; uiLocale?: UiLocale | null }

/** The members of a request that the response needs. */
export type ResponseTarget = Pick<AuthorizationRequest, 'clientId' | 'redirectUri' | 'responseMode' | 'state' | 'answersIss'>

/**
 * The request with only these scopes, which the user left on. A resource without a scope is left out. The remaining resources have every
 * scope if `scopesByResource` is null.
 */
export function withScopes(request: AuthorizationRequest, scopes: string[]): AuthorizationRequest {
  const { resources, scopesByResource: all } = request
  const limit = limitAmong(request.limit, scopes)
  if (all === null) return { ...request, scopes, limit }
  const pairs = resources
    .map((uri) => [uri, (all[uri] ?? []).filter((scope) => scopes.includes(scope))] as const)
    .filter(([, own]) => own.length > 0)
  const isSame = pairs.every(([, own]) => own.length === scopes.length)
  return {
    ...request,
    scopes,
    limit,
    resources: pairs.map(([uri]) => uri),
    scopesByResource: isSame ? null : Object.fromEntries(pairs),
  }
}

/** The limit, unless the user switched off its scope. `limit` is undefined in a request that an earlier version sealed. */
export function limitAmong(limit: ScopeLimit | null | undefined, scopes: readonly string[]): ScopeLimit | null {
  return limit && scopes.includes(limit.scope) ? limit : null
}
