/**
 * What an app asks for, once it has been checked (RFC 6749 §4.1.1): whom to answer, and what would be granted.
 * It travels inside challenges and confirmations, so nothing about a request is stored.
 */

import { encodeFormValue } from '../oauth/form.ts'
import { accessDenied, type OAuthError } from '../oauth/oauth-error.ts'
import { appendToRedirectUri, redirectUriHost, redirectUriMatches } from '../oauth/redirect-uri.ts'
import { sealCode } from './code.ts'
import type { Deps } from './deps.ts'
import type { Client, Session } from './model.ts'

export type AuthorizationRequest = {
  clientId: string
  redirectUri: string
  scopes: string[]
  resources: string[]
  /** percent-encoded as it goes back: its bytes are the app's, UTF-8 or not */
  state: string | null
  /** whether the answer carries `iss` (RFC 9207): where the request named a `response_type` */
  answersIss: boolean
  codeChallenge: string | null
}

/** Who a page or a text says is asking. */
export type AskingApp = { clientName: string; clientHost: string }

export function askingApp(client: Client, request: AuthorizationRequest): AskingApp {
  return { clientName: client.name, clientHost: redirectUriHost(request.redirectUri) }
}

/** The client of a request made earlier, as far as the request would still be taken: enabled, its redirect URI registered. */
export async function clientOfRequest(deps: Deps, request: AuthorizationRequest): Promise<Client | null> {
  const client = await deps.clients.findEnabled(request.clientId)
  return client && redirectUriMatches(client.redirectUris, request.redirectUri, client.type === 'native') ? client : null
}

/** The redirect URI with an error (RFC 6749 §4.1.2.1). */
export function errorRedirect(deps: Deps, request: Answerable, error: OAuthError): string {
  return redirectWith(deps, request, [
    ['error', error.error],
    ['error_description', encodeFormValue(error.description)],
  ])
}

export function deniedRedirect(deps: Deps, request: AuthorizationRequest): string {
  return errorRedirect(deps, request, accessDenied('user_declined'))
}

/** What a code rests on: the wallet's epoch when the session was found to hold, a signed text, and the grant's end. */
export type CodeBasis = {
  session: Session
  epoch: number
  receiptId: string | null
  consented: boolean
  grantExpiresAt: number
}

/** The redirect URI with a fresh code (RFC 6749 §4.1.2). */
export function codeRedirect(deps: Deps, request: AuthorizationRequest, basis: CodeBasis): string {
  const { session, epoch, receiptId, consented, grantExpiresAt } = basis
  const code = sealCode(deps.keys, {
    clientId: request.clientId,
    redirectUri: request.redirectUri,
    wallet: session.wallet,
    walletKind: session.walletKind,
    receiptId,
    consented,
    epoch,
    scopes: request.scopes,
    resources: request.resources,
    codeChallenge: request.codeChallenge,
    sessionHash: session.hash,
    expiresAt: deps.now() + deps.settings.lifetimes.code,
    grantExpiresAt,
  })
  deps.audit({ event: 'code_issued', client_id: request.clientId })
  return redirectWith(deps, request, [['code', code]])
}

/** As much of a request as an answer needs. */
export type Answerable = Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'answersIss'>

function redirectWith(deps: Deps, request: Answerable, parameters: [string, string][]): string {
  const answer = [...parameters]
  if (request.state !== null) answer.push(['state', request.state])
  if (request.answersIss) answer.push(['iss', encodeFormValue(deps.settings.authUrl)])
  return appendToRedirectUri(request.redirectUri, answer)
}
