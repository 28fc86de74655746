/**
 * What an app asks for, once it has been checked (RFC 6749 §4.1.1): whom to answer, and what would be granted.
 * It travels inside challenges and confirmations, so nothing about a request is stored.
 */

import { randomUUID } from 'node:crypto'
import { accessDenied, type OAuthError } from '../oauth/oauth-error.ts'
import { type ClientPlace, redirectUriMatches, redirectUriPlace } from '../oauth/redirect-uri.ts'
import type { ResponseMode } from '../oauth/response-mode.ts'
import type { Address } from '../wallet/address.ts'
import { type Destination, makeResponse } from './authorization-response.ts'
import { sealCode } from './code.ts'
import type { Deps } from './deps.ts'
import type { Client, Session } from './model.ts'

export type AuthorizationRequest = {
  clientId: string
  redirectUri: string
  scopes: string[]
  resources: string[]
  responseMode: ResponseMode
  /** percent-encoded as it goes back: its bytes are the app's; UTF-8 in every response mode but `query` */
  state: string | null
  /** whether the answer carries `iss` (RFC 9207 §2), which is the issuer of the metadata (§2.3): where the request named a `response_type` */
  answersIss: boolean
  codeChallenge: string | null
  /** goes into the ID token as it came (OpenID Connect Core §3.1.2.1) */
  nonce: string | null
  /** seconds that may have passed since the wallet was proved; null where any will do, and from a login on, which satisfies it */
  maxAge: number | null
  /** the key that the code is bound to (RFC 9449 §10) */
  dpopJkt: string | null
  /** of the pushed request it came from (RFC 9126), which is spent when its code is issued */
  pushedId: string | null
  /** the wallet that the app expects; somebody else may sign all the same */
  loginHint: Address | null
  /** except where an ID token named it (`id_token_hint`): then nobody else gets an answer */
  onlyHinted: boolean
}

/** Who a page or a text says is asking. */
export type AskingApp = ClientPlace & { clientName: string }

export function askingApp(client: Client, request: AuthorizationRequest): AskingApp {
  return { clientName: client.name, ...redirectUriPlace(request.redirectUri) }
}

/** The client of a request made earlier; null unless the client is enabled and still registered for the redirect URI and the response mode. */
export async function clientOfRequest(deps: Deps, request: AuthorizationRequest): Promise<Client | null> {
  const client = await deps.clients.findEnabled(request.clientId)
  if (!client || !redirectUriMatches(client.redirectUris, request.redirectUri, client.type === 'native')) return null
  return client.responseModes === null || client.responseModes.includes(request.responseMode) ? client : null
}

/** An error for the app (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). A person who declines is one, too (Core §3.1.2.1). */
export function errorRedirect(deps: Deps, request: Answerable, error: OAuthError): Promise<Destination> {
  return makeResponse(deps, request, [
    ['error', error.error],
    ['error_description', error.description],
  ])
}

export function deniedRedirect(deps: Deps, request: AuthorizationRequest): Promise<Destination> {
  return errorRedirect(deps, request, accessDenied('user_declined'))
}

/** What a code rests on: a session, the wallet's epoch, a signed text, and the grant's end. */
export type CodeBasis = {
  session: Session
  epoch: number
  receiptId: string | null
  consented: boolean
  grantExpiresAt: number
}

/** A response with a new code (RFC 6749 §4.1.2, OpenID Connect Core §3.1.2.5). Null if the request was pushed and a code was already issued for it. */
export async function codeRedirect(deps: Deps, request: AuthorizationRequest, basis: CodeBasis): Promise<Destination | null> {
  if (!(await mayIssueCode(deps, request))) return null
  const { session, epoch, receiptId, consented, grantExpiresAt } = basis
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
    codeChallenge: request.codeChallenge,
    sessionHash: session.hash,
    expiresAt: deps.now() + (await codeLifetime(deps, request)),
    grantExpiresAt,
    authTime: session.authTime,
    chainId: session.chainId,
    nonce: request.nonce,
    dpopJkt: request.dpopJkt,
  })
  deps.audit({ event: 'code_issued', client_id: request.clientId })
  return makeResponse(deps, request, [['code', code]])
}

/**
 * The signed text that the session of a contract wallet began with, if the code rests on another one. The owners of the contract
 * can change, and a text that another owner signed does not stand in for the session's own.
 */
function proofToCheck({ walletKind, receiptId }: Session, consent: string | null): string | null {
  return walletKind === 'contract' && receiptId !== consent ? receiptId : null
}

/** FAPI 2.0 Security Profile §5.3.2.1: "shall issue authorization codes with a maximum lifetime of 60 seconds" */
const CODE_LIFETIME_FAPI2 = 60

async function codeLifetime({ clients, settings }: Deps, { clientId }: AuthorizationRequest): Promise<number> {
  const { code } = settings.lifetimes
  const client = await clients.findEnabled(clientId)
  return client?.profile === 'fapi2' ? Math.min(code, CODE_LIFETIME_FAPI2) : code
}

/**
 * A pushed request is good for one code (RFC 9126 §4, §7.3): spending it is one conditional update, so one of any number of
 * simultaneous requests gets it, on any number of nodes. Spent and then lost on the way is spent: the app pushes anew.
 */
async function mayIssueCode(deps: Deps, { clientId, pushedId }: AuthorizationRequest): Promise<boolean> {
  if (pushedId === null) return true
  const spending = await deps.store.pushedRequests.spendPushed(pushedId, randomUUID(), deps.now())
  if (spending === 'spent') return true
  deps.audit({ event: 'authorize_refused', reason: `pushed_${spending}`, client_id: clientId })
  return false
}

/** As much of a request as an answer needs. */
export type Answerable = Pick<AuthorizationRequest, 'clientId' | 'redirectUri' | 'responseMode' | 'state' | 'answersIss'>
