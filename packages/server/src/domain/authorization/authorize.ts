/**
 * The authorization request (RFC 6749 §3.1, §4.1.1; OpenID Connect Core §3.1.2.1 to §3.1.2.4, §3.1.2.6).
 *
 * Until the redirect URI is known to be registered for the client, an error is shown on a page: a redirect would make the service an
 * open redirector (RFC 9700 §2.1, §4.11.2). After that, errors are sent to the redirect URI. An unauthenticated request writes nothing.
 */

import type { Form } from '../../protocol/oauth/form.ts'
import {
  accessDenied,
  accountSelectionRequired,
  consentRequired,
  interactionRequired,
  invalidRequest,
  loginRequired,
  OAuthError,
  tooManyCodes,
} from '../../protocol/oauth/oauth-error.ts'
import type { Reason } from '../../protocol/oauth/reasons.ts'
import { findCoveringReceipt, isForAnotherPort } from '../consent/receipt.ts'
import { findSession, meetsConsentRule, meetsRequest, touchSession } from '../consent/session.ts'
import { type AuthorizationRequest, type RequestingApp, type ResponseTarget } from '../model/authorization-request.ts'
import { grantLifetime } from '../model/client-lifetimes.ts'
import { type AdmitCode, ALLOWED_AS_ASKED, type Deps } from '../model/deps.ts'
import type { DevicePlace } from '../model/device-request.ts'
import type { Client, Session } from '../model/records.ts'
import type { Destination } from './authorization-response.ts'
import { newBrowserKey, sealChallenge } from './challenge.ts'
import { sealConfirmation } from './confirm.ts'
import { askAboutCode } from './hook-questions.ts'
import type { Prompt } from './openid-parameters.ts'
import { type CodeBasis, codeRedirect, errorRedirect, requestingApp } from './redirects.ts'
import {
  checkRequest,
  type ReceivedRequest,
  type RedirectFault,
  readResponseTarget,
  repeatedParameter,
  takeRequest,
} from './request-parameters.ts'
import { resolveRequest } from './resolve-request.ts'

/** The two cookies of the browser, its network (`observability/log/network.ts`), what another device may be shown of its place, and the limits on its codes. */
export type Browser = {
  sessionId: string | null
  browserKey: string | null
  network: string
  place: DevicePlace
  admitCode: AdmitCode
}

/** Faults that are shown to the user, because no redirect URI can be trusted. */
export type PageFault = 'malformed_request' | 'unknown_client' | 'client_document' | 'request_unusable' | RedirectFault

/** The metadata document of a client, and why it was refused; for the log. */
export type RefusedDocument = { clientId: string; cause: string }

export type AuthorizeOutcome =
  | { kind: 'page'; fault: PageFault; reason: Reason; document?: RefusedDocument }
  | { kind: 'redirect'; to: Destination }
  | { kind: 'login'; to: string; browserKey: string }
  | { kind: 'confirm'; confirmation: string; app: RequestingApp; request: AuthorizationRequest; session: Session }
  | { kind: 'over_limit'; retryAfter: number }
  /** the hook of the operator gave no usable answer; the browser can repeat the request */
  | { kind: 'unavailable'; error: OAuthError }

export async function authorize(deps: Deps, query: Form, browser: Browser): Promise<AuthorizeOutcome> {
  const received = takeRequest(query)
  const repeated = repeatedParameter(received)
  if (repeated !== null) return page('malformed_request', `${repeated}_repeated`)

  // RFC 6749 §3.1.2.4, §4.1.2.1: for an invalid client id or redirect URI, inform the user and "MUST NOT automatically redirect"
  const { client_id: clientId } = received.taken.values
  if (clientId === null) return page('unknown_client', 'client_id_missing')
  const client = await findClient(deps, clientId, browser.network)
  if (!client) return unknownClientPage(deps, clientId)
  try {
    const resolved = await resolveRequest(deps, client, { query: received, network: browser.network })
    return typeof resolved === 'string' ? page('request_unusable', resolved) : await answerTo(deps, client, resolved, browser)
  } catch (error) {
    // The contents of an unreadable request object are not used. The query may still name a registered redirect URI.
    return refuse(deps, client, readResponseTarget(client, received), error)
  }
}

async function findClient(deps: Deps, clientId: string, network: string): Promise<Client | null> {
  try {
    return await deps.clients.findEnabled(clientId, network)
  } catch (error) {
    // A budget of fetches is used up. The log names the client.
    if (error instanceof OAuthError) error.clientId = clientId
    throw error
  }
}

function unknownClientPage({ clients }: Deps, clientId: string): AuthorizeOutcome {
  const { reason, cause } = clients.whyUnknown(clientId)
  if (reason === 'client_unknown_or_disabled') return page('unknown_client', reason)
  return { ...page('client_document', reason), ...(cause !== undefined && { document: { clientId, cause } }) }
}

/** Answers a resolved request. Errors go to the redirect URI of the request. */
async function answerTo(deps: Deps, client: Client, received: ReceivedRequest, browser: Browser): Promise<AuthorizeOutcome> {
  const target = readResponseTarget(client, received)
  if (target === 'redirect_uri_missing') return page(target, target)
  if (target === 'redirect_uri_mismatch') return page(target, 'redirect_uri_not_registered')
  try {
    const { request, prompt } = checkRequest(deps, client, received, target)
    return await answer({ deps, client, request, prompt, browser })
  } catch (error) {
    return refuse(deps, client, target, error)
  }
}

async function refuse(
  deps: Deps,
  client: Client,
  target: ResponseTarget | RedirectFault,
  error: unknown,
): Promise<AuthorizeOutcome> {
  if (!(error instanceof OAuthError)) throw error
  if (typeof target === 'string') {
    // A page with the status and the waiting time of the error: the request itself may be correct.
    if (error.error === 'temporarily_unavailable') throw error
    return page('request_unusable', error.reason)
  }
  const { reason, detail } = error
  const facts = detail === undefined ? {} : { details: { cause: detail } }
  deps.audit({ event: 'authorize_refused', reason, client_id: client.id, ...facts })
  return { kind: 'redirect', to: await errorRedirect(deps, target, error) }
}

/** A valid request of a client, and the browser that sent it. */
type CheckedRequest = { deps: Deps; client: Client; request: AuthorizationRequest; prompt: Prompt; browser: Browser }

/** A session, and the epoch of the wallet. */
type SessionBasis = Pick<CodeBasis, 'session' | 'epoch'>

/** Answers a valid request with a code, or first with a login or a confirmation. */
async function answer(checked: CheckedRequest): Promise<AuthorizeOutcome> {
  const { deps, client, request, prompt, browser } = checked
  // OpenID Connect Core §3.1.2.2: only the wallet that a hint names is accepted. §3.1.2.3: prompt=none shows no page to the user.
  const found = await findSession(deps, browser.sessionId)
  const isUsable = found && !prompt.login && meetsRequest(deps, found, request) && meetsConsentRule(client, found.method)
  const isOtherWallet = found && request.loginHint !== null && found.wallet !== request.loginHint
  const session = isUsable && !isOtherWallet ? found : null
  if (!session) {
    if (prompt.none) throw isUsable && isOtherWallet && !request.onlyHinted ? accountSelectionRequired() : loginRequired()
    return toLogin(checked)
  }
  // Each limit has a signature of its own, also under the consent rule `session`: no earlier consent covers the request.
  if (request.limit !== null) {
    if (prompt.none) throw consentRequired()
    return toLogin(checked)
  }
  // The redemption of the code checks session and epoch again, so they can be read here in any order.
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  return client.consent === 'signed' ? answerSigned(checked, { session, epoch }) : answerBySession(checked, { session, epoch })
}

/** Consent rule `signed`: needs a receipt that covers the request, or a new signature. Another loopback port needs a confirmation. */
async function answerSigned(checked: CheckedRequest, basis: SessionBasis): Promise<AuthorizeOutcome> {
  const { deps, client, request, prompt } = checked
  // The receipt is read after the epoch: a withdrawal meanwhile raises the epoch, so the code is void.
  const receipt = prompt.consent ? null : await findCoveringReceipt(deps, basis.session, client, request)
  if (!receipt) {
    if (prompt.none) throw consentRequired()
    return toLogin(checked)
  }
  if (isForAnotherPort(receipt, client, request)) {
    if (prompt.none) throw interactionRequired()
    return toConfirmation(checked, basis.session)
  }
  return issueCode(checked, { ...basis, receiptId: receipt.id, consented: true, until: receipt.expiresAt })
}

/** Consent rule `session`: the session is sufficient, unless the app requests a confirmation (`prompt=consent`). */
async function answerBySession(checked: CheckedRequest, basis: SessionBasis): Promise<AuthorizeOutcome> {
  const { session } = basis
  if (checked.prompt.consent) return toConfirmation(checked, session)
  return issueCode(checked, { ...basis, receiptId: session.receiptId, consented: false, until: Number.POSITIVE_INFINITY })
}

/** `until`: when the consent ends. */
async function issueCode(
  { deps, client, request, prompt, browser }: CheckedRequest,
  { until, ...basis }: Omit<CodeBasis, 'grantExpiresAt' | 'first' | 'limit'> & { until: number },
): Promise<AuthorizeOutcome> {
  const verdict = browser.admitCode(basis.session.wallet)
  if (!verdict.allowed) {
    // An app that requests a new code as soon as it has one would repeat the request after an error at its redirect URI. A page stops it.
    if (!prompt.none) return { kind: 'over_limit', retryAfter: verdict.retryAfter }
    throw tooManyCodes(verdict.retryAfter)
  }
  const permission = deps.hook === null ? null : await askAboutCode(deps.hook, client, request, basis.session)
  if (permission?.kind === 'refused') throw accessDenied('hook_refused')
  if (permission?.kind === 'failed') {
    // As above: a page stops an app that would repeat the request at once.
    if (!prompt.none) return { kind: 'unavailable', error: permission.error }
    throw permission.error
  }
  await touchSession(deps, basis.session)
  const grantExpiresAt = Math.min(deps.now() + grantLifetime(deps.settings.lifetimes, client), until)
  const to = await codeRedirect(deps, request, { ...basis, grantExpiresAt, first: permission ?? ALLOWED_AS_ASKED, limit: null })
  return to === null ? page('request_unusable', 'pushed_spent') : { kind: 'redirect', to }
}

function toConfirmation({ deps, client, request }: CheckedRequest, session: Session): AuthorizeOutcome {
  const confirmation = sealConfirmation(deps, client, request, session)
  return { kind: 'confirm', confirmation, app: requestingApp(client, request), request, session }
}

function toLogin({ deps, client, request, browser }: CheckedRequest): AuthorizeOutcome {
  const browserKey = browser.browserKey ?? newBrowserKey()
  const challenge = sealChallenge(deps, { kind: 'app', request }, client, { browserKey, place: browser.place })
  if (challenge === null) throw invalidRequest('request_too_long', 'The request is too long.')
  return { kind: 'login', to: loginPageUrl(deps, challenge), browserKey }
}

/** The URL of the login page for a challenge. */
export function loginPageUrl(deps: Deps, challenge: string): string {
  return `${deps.settings.loginUrl}/login?login_challenge=${challenge}`
}

function page(fault: PageFault, reason: Reason): AuthorizeOutcome & { kind: 'page' } {
  return { kind: 'page', fault, reason }
}
