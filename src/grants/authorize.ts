/**
 * The authorization request (RFC 6749 §4.1.1), step by step.
 *
 * Until the client and its redirect URI are known to belong together every fault is a page: a redirect would make
 * the service an open redirector (RFC 9700 §4.11). After that, faults go to the redirect URI. Nothing is written.
 */
import type { Form } from '../oauth/form.ts'
import { consentRequired, invalidRequest, loginRequired, OAuthError } from '../oauth/oauth-error.ts'
import { takeParameters } from '../oauth/parameters.ts'
import { redirectUriMatches } from '../oauth/redirect-uri.ts'
import {
  type Answerable,
  type AskingApp,
  type AuthorizationRequest,
  askingApp,
  type CodeBasis,
  codeRedirect,
  errorRedirect,
} from './authorization-request.ts'
import { type Prompt, type RequestParameters, readPrompt, readRequest } from './authorize-parameters.ts'
import { newBrowserKey, sealChallenge } from './challenge.ts'
import { sealConfirmation } from './confirm.ts'
import type { Deps } from './deps.ts'
import type { Client, Session } from './model.ts'
import { findCoveringReceipt } from './receipt.ts'
import { findSession, meetsConsentRule, readStandingEpoch, touchSession } from './session.ts'

/** The browser, by its two cookies. */
export type Browser = { sessionId: string | null; browserKey: string | null }

/** Faults that are shown to the person, because there is nobody to redirect to. */
export type PageFault = 'malformed_request' | 'unknown_client' | 'redirect_uri_missing' | 'redirect_uri_mismatch'

export type AuthorizeOutcome =
  | { kind: 'page'; fault: PageFault; reason: string }
  | { kind: 'redirect'; to: string }
  | { kind: 'login'; to: string; browserKey: string }
  | { kind: 'confirm'; confirmation: string; app: AskingApp; scopes: string[]; session: Session }

const KNOWN = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'prompt',
] as const

export async function authorize(deps: Deps, query: Form, browser: Browser): Promise<AuthorizeOutcome> {
  const { values, faults } = takeParameters(query, KNOWN, ['resource'])
  const repeated = faults.find((fault) => fault.reason === 'parameter_repeated')
  if (repeated) return page('malformed_request', `${repeated.parameter}_repeated`)

  // §4.1.2.1: an invalid client identifier or redirection URI: inform the user, "MUST NOT automatically redirect"
  const client = values.client_id === null ? null : await deps.clients.findEnabled(values.client_id)
  if (!client) return page('unknown_client', values.client_id === null ? 'client_id_missing' : 'client_unknown_or_disabled')
  const redirectUri = values.redirect_uri
  const misread = faults.some((fault) => fault.parameter === 'redirect_uri')
  if (redirectUri === null && !misread) return page('redirect_uri_missing', 'redirect_uri_missing')
  if (redirectUri === null || !redirectUriMatches(client.redirectUris, redirectUri, client.type === 'native')) {
    return page('redirect_uri_mismatch', 'redirect_uri_not_registered')
  }

  // As they were sent, whether or not their bytes are text.
  const sent = (name: string): string | null => query.get(name)?.[0]?.encoded || null
  const answerable: Answerable = { redirectUri, state: sent('state'), answersIss: sent('response_type') !== null }
  try {
    // `state` may hold any bytes at all; it goes back as it came.
    const unreadable = faults.find((fault) => fault.parameter !== 'state')
    if (unreadable) throw invalidRequest(`${unreadable.parameter}_not_utf8`, `${unreadable.parameter} is not UTF-8.`)
    return await answer(deps, client, readRequest(deps, client, values, answerable), values, browser)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    deps.audit({ event: 'authorize_refused', reason: error.reason, client_id: client.id })
    return { kind: 'redirect', to: errorRedirect(deps, answerable, error) }
  }
}

/** A request that may be granted: a code at once, or first a login or a confirmation. */
async function answer(
  deps: Deps,
  client: Client,
  request: AuthorizationRequest,
  parameters: RequestParameters,
  browser: Browser,
): Promise<AuthorizeOutcome> {
  // OpenID Connect Core §3.1.2.1
  const prompt = readPrompt(parameters.prompt)
  const found = await findSession(deps, browser.sessionId)
  const session = found && !prompt.login && meetsConsentRule(client, found.method) ? found : null
  const epoch = session && (await readStandingEpoch(deps, session))
  if (!session || epoch === null) {
    if (prompt.none) throw loginRequired()
    return toLogin(deps, client, request, browser)
  }
  return client.consent === 'signed'
    ? answerSigned(deps, client, request, prompt, { session, epoch }, browser)
    : answerBySession(deps, client, request, prompt, { session, epoch })
}

/** A session, and the wallet's epoch at which it is known to hold. */
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
  return { kind: 'redirect', to: codeRedirect(deps, request, { ...basis, grantExpiresAt }) }
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

function page(fault: PageFault, reason: string): AuthorizeOutcome {
  return { kind: 'page', fault, reason }
}
