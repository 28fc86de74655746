/**
 * The authorization request (RFC 6749 §3.1, §4.1.1; OpenID Connect Core §3.1.2.1 to §3.1.2.4, §3.1.2.6), step by step.
 *
 * Until the client and its redirect URI are known to belong together every fault is a page: a redirect would make
 * the service an open redirector (RFC 9700 §2.1, §4.11.2). After that, faults go to the redirect URI. Nothing is written.
 */
import type { Form } from '../oauth/form.ts'
import { accountSelectionRequired, consentRequired, invalidRequest, loginRequired, OAuthError } from '../oauth/oauth-error.ts'
import type { Reason } from '../oauth/reasons.ts'
import {
  type AskedRequest,
  type RedirectFault,
  readAnswerable,
  readAsked,
  repeatedParameter,
  takeRequest,
} from './asked-request.ts'
import {
  type Answerable,
  type AskingApp,
  type AuthorizationRequest,
  askingApp,
  type CodeBasis,
  codeRedirect,
  errorRedirect,
} from './authorization-request.ts'
import type { Destination } from './authorization-response.ts'
import { newBrowserKey, sealChallenge } from './challenge.ts'
import { sealConfirmation } from './confirm.ts'
import type { Deps } from './deps.ts'
import type { Client, Session } from './model.ts'
import type { Prompt } from './openid-parameters.ts'
import { findCoveringReceipt } from './receipt.ts'
import { resolveRequest } from './resolve-request.ts'
import { findSession, isRecent, meetsConsentRule, touchSession } from './session.ts'

/** The browser, by its two cookies. */
export type Browser = { sessionId: string | null; browserKey: string | null }

/** Faults that are shown to the person, because there is nobody to redirect to. */
export type PageFault = 'malformed_request' | 'unknown_client' | 'request_unusable' | RedirectFault

export type AuthorizeOutcome =
  | { kind: 'page'; fault: PageFault; reason: Reason }
  | { kind: 'redirect'; to: Destination }
  | { kind: 'login'; to: string; browserKey: string }
  | { kind: 'confirm'; confirmation: string; app: AskingApp; scopes: string[]; session: Session }

export async function authorize(deps: Deps, query: Form, browser: Browser): Promise<AuthorizeOutcome> {
  const asked = takeRequest(query)
  const repeated = repeatedParameter(asked)
  if (repeated !== null) return page('malformed_request', `${repeated}_repeated`)

  // RFC 6749 §3.1.2.4, §4.1.2.1: an invalid client identifier or redirection URI: inform the user, "MUST NOT automatically redirect"
  const { client_id: clientId } = asked.taken.values
  const client = clientId === null ? null : await deps.clients.findEnabled(clientId)
  if (!client) return page('unknown_client', clientId === null ? 'client_id_missing' : 'client_unknown_or_disabled')
  try {
    const resolved = await resolveRequest(deps, client, asked)
    return typeof resolved === 'string' ? page('request_unusable', resolved) : await answerTo(deps, client, resolved, browser)
  } catch (error) {
    // Nothing in a request that cannot be read is believed. What stands in the query itself may still be an address of the client's.
    return refuse(deps, client, readAnswerable(client, asked), error)
  }
}

/** A request in full: its faults go to its own redirect URI. */
async function answerTo(deps: Deps, client: Client, asked: AskedRequest, browser: Browser): Promise<AuthorizeOutcome> {
  const answerable = readAnswerable(client, asked)
  if (answerable === 'redirect_uri_missing') return page(answerable, answerable)
  if (answerable === 'redirect_uri_mismatch') return page(answerable, 'redirect_uri_not_registered')
  try {
    const { request, prompt } = readAsked(deps, client, asked, answerable)
    return await answer(deps, client, request, prompt, browser)
  } catch (error) {
    return refuse(deps, client, answerable, error)
  }
}

async function refuse(
  deps: Deps,
  client: Client,
  answerable: Answerable | RedirectFault,
  error: unknown,
): Promise<AuthorizeOutcome> {
  if (!(error instanceof OAuthError)) throw error
  if (typeof answerable === 'string') return page('request_unusable', error.reason)
  deps.audit({ event: 'authorize_refused', reason: error.reason, client_id: client.id })
  return { kind: 'redirect', to: await errorRedirect(deps, answerable, error) }
}

/** A request that may be granted: a code at once, or first a login or a confirmation. */
async function answer(
  deps: Deps,
  client: Client,
  request: AuthorizationRequest,
  prompt: Prompt,
  browser: Browser,
): Promise<AuthorizeOutcome> {
  // OpenID Connect Core §3.1.2.2: a person who is meant by a hint, and nobody else; §3.1.2.3: nobody is asked under prompt=none
  const found = await findSession(deps, browser.sessionId)
  const fits = found && !prompt.login && isRecent(deps, found, request.maxAge) && meetsConsentRule(client, found.method)
  const another = found && request.loginHint !== null && found.wallet !== request.loginHint
  const session = fits && !another ? found : null
  if (!session) {
    if (prompt.none) throw fits && another && !request.onlyHinted ? accountSelectionRequired() : loginRequired()
    return toLogin(deps, client, request, browser)
  }
  // A code counts while its session lives and the epoch stays, so both may be read in any order.
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  return client.consent === 'signed'
    ? answerSigned(deps, client, request, prompt, { session, epoch }, browser)
    : answerBySession(deps, client, request, prompt, { session, epoch })
}

/** A session, and the epoch of its wallet. */
type Standing = Pick<CodeBasis, 'session' | 'epoch'>

/** Consent rule `signed`: a receipt that covers the request, or a new signature. */
async function answerSigned(
  deps: Deps,
  client: Client,
  request: AuthorizationRequest,
  prompt: Prompt,
  standing: Standing,
  browser: Browser,
): Promise<AuthorizeOutcome> {
  // Read after the epoch: a receipt withdrawn since makes a code that counts no more.
  const receipt = prompt.consent ? null : await findCoveringReceipt(deps, standing.session, client, request)
  if (!receipt) {
    if (prompt.none) throw consentRequired()
    return toLogin(deps, client, request, browser)
  }
  return giveCode(deps, request, { ...standing, receiptId: receipt.id, consented: true }, receipt.expiresAt)
}

/** Consent rule `session`: the session is enough, unless the app itself wants the person asked. */
async function answerBySession(
  deps: Deps,
  client: Client,
  request: AuthorizationRequest,
  prompt: Prompt,
  standing: Standing,
): Promise<AuthorizeOutcome> {
  const { session } = standing
  if (prompt.consent) {
    const confirmation = sealConfirmation(deps, request, session)
    return { kind: 'confirm', confirmation, app: askingApp(client, request), scopes: request.scopes, session }
  }
  const basis = { ...standing, receiptId: session.receiptId, consented: false }
  return giveCode(deps, request, basis, Number.POSITIVE_INFINITY)
}

async function giveCode(
  deps: Deps,
  request: AuthorizationRequest,
  basis: Omit<CodeBasis, 'grantExpiresAt'>,
  until: number,
): Promise<AuthorizeOutcome> {
  await touchSession(deps, basis.session)
  const grantExpiresAt = Math.min(deps.now() + deps.settings.lifetimes.grant, until)
  const to = await codeRedirect(deps, request, { ...basis, grantExpiresAt })
  return to === null ? page('request_unusable', 'pushed_spent') : { kind: 'redirect', to }
}

function toLogin(deps: Deps, client: Client, request: AuthorizationRequest, browser: Browser): AuthorizeOutcome {
  const browserKey = browser.browserKey ?? newBrowserKey()
  const challenge = sealChallenge(deps, { kind: 'app', request }, client, browserKey)
  if (challenge === null) throw invalidRequest('request_too_long', 'The request is too long.')
  return { kind: 'login', to: loginPageUrl(deps, challenge), browserKey }
}

/** Where a browser signs in. */
export function loginPageUrl(deps: Deps, challenge: string): string {
  return `${deps.settings.loginUrl}/login?login_challenge=${challenge}`
}

function page(fault: PageFault, reason: Reason): AuthorizeOutcome {
  return { kind: 'page', fault, reason }
}
