/** The redirects that answer an authorization request: with a code, or with an error (RFC 6749 §4.1.2, §4.1.2.1). */

import { randomUUID } from 'node:crypto'
import { clientPlace } from '../../protocol/oauth/client-id-url.ts'
import { accessDenied, type OAuthError } from '../../protocol/oauth/oauth-error.ts'
import { redirectUriMatches } from '../../protocol/oauth/redirect-uri.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'
import { type AuthorizationRequest, limitAmong, type RequestingApp, type ResponseTarget } from '../model/authorization-request.ts'
import { codeLifetime } from '../model/client-lifetimes.ts'
import type { AllowedByHook, Deps } from '../model/deps.ts'
import type { Client, Session, SignedLimit } from '../model/records.ts'
import { portRuleOf } from '../model/redirect-rules.ts'
import { sealCode } from '../tokens/code.ts'
import { type Destination, makeResponse } from './authorization-response.ts'

export function requestingApp(client: Client, request: AuthorizationRequest): RequestingApp {
  return { clientName: client.name, ...clientPlace(client.id, request.redirectUri), uiLocale: request.uiLocale }
}

/** The client of an earlier request; null if the client is disabled or no longer registered for the redirect URI or the response mode. */
export async function clientOfRequest(deps: Deps, request: AuthorizationRequest): Promise<Client | null> {
  const client = await deps.clients.findEnabled(request.clientId, null)
  if (!client || !redirectUriMatches(client.redirectUris, request.redirectUri, portRuleOf(client))) return null
  return client.responseModes === null || client.responseModes.includes(request.responseMode) ? client : null
}

/**
 * An error response (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6), also if the user declines (Core §3.1.2.1). Every error has `iss` (RFC
 * 9207 §2): only the code for a request without `response_type` is specified to come alone.
 */
export function errorRedirect(deps: Deps, request: ResponseTarget, error: OAuthError): Promise<Destination> {
  return makeResponse(deps, { ...request, answersIss: true }, [
    ['error', error.error],
    ['error_description', error.description],
  ])
}

export function deniedRedirect(deps: Deps, request: AuthorizationRequest): Promise<Destination> {
  return errorRedirect(deps, request, accessDenied('user_declined'))
}

/** The response if the hook of the operator refuses the wallet (RFC 6749 §4.1.2.1). */
export function refusedByHook(deps: Deps, request: AuthorizationRequest): Promise<Destination> {
  const refusal = accessDenied('hook_refused')
  deps.audit({ event: 'authorize_refused', reason: refusal.reason, client_id: request.clientId })
  return errorRedirect(deps, request, refusal)
}

/** What a code is based on: a session, the wallet's epoch, a receipt, the end of the grant, and what the operator's hook allows. */
export type CodeBasis = {
  session: Session
  epoch: number
  receiptId: string | null
  consented: boolean
  grantExpiresAt: number
  /** for the first tokens */
  first: AllowedByHook
  /** what the wallet signed of a limited scope; null if no scope has a limit */
  limit: SignedLimit | null
}

/**
 * The limit that the wallet signed, also if the operator has removed the limit since; null if the scopes that the user allowed have none.
 *
 * @throws Error if the limit was not signed: a defect. A code for a limited scope without a limit must not exist.
 */
export function requireLimit(
  requested: ScopeLimit | null | undefined,
  { limit, scopes }: Pick<CodeBasis, 'limit'> & { scopes: readonly string[] },
): SignedLimit | null {
  if (limit !== null && scopes.includes(limit.scope)) return limit
  if (limitAmong(requested, scopes) !== null) throw new Error('the wallet has not signed the limit of the scope')
  return null
}

/** A response with a new code (RFC 6749 §4.1.2, OpenID Connect Core §3.1.2.5). Null if the request was pushed and a code was already issued. */
export async function codeRedirect(deps: Deps, request: AuthorizationRequest, basis: CodeBasis): Promise<Destination | null> {
  if (!(await mayIssueCode(deps, request))) return null
  const { session, epoch, receiptId, consented, grantExpiresAt, first } = basis
  const limit = requireLimit(request.limit, { limit: basis.limit, scopes: request.scopes })
  const code = sealCode(deps.keys, {
    clientId: request.clientId,
    redirectUri: request.redirectUri,
    wallet: session.wallet,
    walletKind: session.walletKind,
    receiptId,
    sessionReceiptId: proofToCheck(session, receiptId),
    consented,
    epoch,
    scopes: request.scopes,
    resources: request.resources,
    scopesByResource: request.scopesByResource,
    codeChallenge: request.codeChallenge,
    sessionHash: session.hash,
    expiresAt: deps.now() + (await lifetimeOfCode(deps, request)),
    grantExpiresAt,
    authTime: session.authTime,
    chainId: session.chainId,
    nonce: request.nonce,
    dpopJkt: request.dpopJkt,
    firstScopes: first.scopes,
    firstClaims: first.claims,
    ...(limit && { limit }),
  })
  deps.audit({ event: 'code_issued', client_id: request.clientId })
  return makeResponse(deps, request, [['code', code]])
}

/**
 * For a contract wallet: the receipt of the session's sign-in, if the code has another receipt. The owners of the contract can change,
 * so a text that one owner signed does not prove the sign-in of another owner.
 */
function proofToCheck({ walletKind, receiptId }: Session, consent: string | null): string | null {
  return walletKind === 'contract' && receiptId !== consent ? receiptId : null
}

async function lifetimeOfCode({ clients, settings }: Deps, { clientId }: AuthorizationRequest): Promise<number> {
  const client = await clients.findEnabled(clientId, null)
  return client ? codeLifetime(settings.lifetimes, client) : settings.lifetimes.code
}

/**
 * A pushed request gets one code (RFC 9126 §4, §7.3). Spending the request is one conditional update: if several requests race, also
 * on several nodes, one gets the code. If that response is lost, the app must push a new request.
 */
async function mayIssueCode(deps: Deps, { clientId, pushedId }: AuthorizationRequest): Promise<boolean> {
  if (pushedId === null) return true
  const spending = await deps.store.pushedRequests.spendPushed(pushedId, randomUUID(), deps.now())
  if (spending === 'spent') return true
  deps.audit({ event: 'authorize_refused', reason: `pushed_${spending}`, client_id: clientId })
  return false
}
