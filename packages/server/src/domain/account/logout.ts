/**
 * OpenID Connect RP-Initiated Logout §2: an app requests that the session of this browser ends. Grants stay valid.
 *
 * Any page can send a browser to this endpoint. So the session ends at once only if the app sends an ID token of this session. Otherwise
 * the user must confirm.
 */
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Form } from '../../protocol/oauth/form.ts'
import { takeParameters } from '../../protocol/oauth/parameters.ts'
import type { PageReason } from '../../protocol/oauth/reasons.ts'
import { appendToRedirectUri, type ClientPlace, redirectUriPlace } from '../../protocol/oauth/redirect-uri.ts'
import { endSession } from '../consent/end-grants.ts'
import { confirmEnded, findSession } from '../consent/session.ts'
import type { RequestingApp } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, Session } from '../model/records.ts'
import { openIdTokenHint, sidOf } from '../tokens/id-token.ts'

/** Seconds in which the user can confirm. */
const QUESTION_LIFETIME = 600

export type LogoutFault =
  | 'malformed_request'
  | 'unknown_client'
  | 'logout_address_unknown'
  | 'logout_hint_unknown'
  | 'logout_client_missing'

export type LogoutOutcome =
  | { kind: 'refused'; fault: LogoutFault; reason: PageReason }
  /** `app` is null if the request does not identify a client */
  | { kind: 'ask'; question: string; app: RequestingApp | null; session: Session }
  /** `to` is the post-logout redirect URI; null if the browser is not redirected */
  | { kind: 'signed_out'; to: string | null; app: RequestingApp | null }

const KNOWN = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'] as const

/** `logout_hint` is optional to support, and is ignored. `ui_locales` selects the language of the pages, and nothing else. */
export async function requestLogout(deps: Deps, query: Form, sessionId: string | null): Promise<LogoutOutcome> {
  const { values, faults } = takeParameters(query, KNOWN)
  const fault = faults.find(({ reason, parameter }) => reason === 'parameter_repeated' || parameter !== 'state')
  if (fault?.reason === 'parameter_repeated') return refusedLogout('malformed_request', `${fault.parameter}_repeated`)
  if (fault) return refusedLogout('malformed_request', `${fault.parameter}_not_utf8`)

  const hint = values.id_token_hint === null ? null : openIdTokenHint(deps, values.id_token_hint)
  // §2: "When both client_id and id_token_hint are present, the OP MUST verify that the Client Identifier matches"
  if (hint && values.client_id !== null && values.client_id !== hint.clientId)
    return refusedLogout('malformed_request', 'client_id_not_of_the_hint')
  const clientId = hint?.clientId ?? values.client_id
  const client = clientId === null ? null : await deps.clients.findRegistered(clientId)
  if (clientId !== null && !client) return refusedLogout('unknown_client', 'client_unknown_or_disabled')
  // A hint that is forged or signed with a retired key identifies no client and no session.
  const isUnknownHint = values.id_token_hint !== null && hint === null
  if (isUnknownHint) deps.audit({ event: 'id_token_hint_unknown', ...(client ? { client_id: client.id } : {}) })
  const uri = values.post_logout_redirect_uri
  // §2, §3: a redirect URI is accepted only if an ID token or `client_id` identifies the client
  if (uri !== null && client === null) {
    return isUnknownHint
      ? refusedLogout('logout_hint_unknown', 'id_token_hint_invalid')
      : refusedLogout('logout_client_missing', 'id_token_hint_and_client_id_missing')
  }
  // §3: the redirect URI must be equal to a registered one, byte for byte
  if (uri !== null && !client?.postLogoutRedirectUris.includes(uri))
    return refusedLogout('logout_address_unknown', 'post_logout_redirect_uri_not_registered')

  // Percent-encoded as received; the bytes need not be UTF-8.
  const state = query.get('state')?.[0]?.encoded || null
  // §4: "when the OP detects errors in the RP-Initiated Logout request, the OP MUST not perform post-logout redirection"
  const to = uri === null || isUnknownHint ? null : state === null ? uri : appendToRedirectUri(uri, [['state', state]])
  const app = client && { clientName: client.name, ...logoutPlace(client, uri) }

  const session = await findSession(deps, sessionId)
  if (!session) {
    await confirmEnded(deps, sessionId)
    return { kind: 'signed_out', to, app }
  }
  if (hint && client && isOfSession(hint, client, session)) {
    await endSession(deps, session)
    return { kind: 'signed_out', to, app }
  }
  return { kind: 'ask', question: sealQuestion(deps, session, uri, to, client), app, session }
}

/** §2: a hint that "matches the current session" needs no confirmation. */
function isOfSession(hint: { wallet: string; sid: string | null }, client: Client, session: Session): boolean {
  return hint.wallet === session.wallet && hint.sid === sidOf(session.hash, client.id)
}

function logoutPlace(client: Client, uri: string | null): ClientPlace {
  return redirectUriPlace(uri ?? client.redirectUris[0] ?? '')
}

/** `uri` is the registered redirect URI, `to` the same URI with the app's `state`. Both are null if the app named no redirect URI. */
type LogoutQuestion = { sessionHash: string; uri: string | null; to: string | null; clientId: string | null; expiresAt: number }

const QUESTION = sealedFormat<LogoutQuestion>('logoutQuestion')

function sealQuestion(deps: Deps, session: Session, uri: string | null, to: string | null, client: Client | null): string {
  const expiresAt = deps.now() + QUESTION_LIFETIME
  const question: LogoutQuestion = { sessionHash: session.hash, uri, to, clientId: client?.id ?? null, expiresAt }
  return QUESTION.seal(deps.keys, question)
}

export type LogoutAnswer =
  | { kind: 'signed_out'; to: string | null; app: RequestingApp | null }
  | { kind: 'stayed' }
  | { kind: 'broken' | 'expired' }

/**
 * Applies the user's decision, only in the session to which the question was shown. If that session has ended meanwhile, nothing more must
 * end.
 */
export async function answerLogout(
  deps: Deps,
  sealed: string,
  sessionId: string | null,
  decision: 'sign_out' | 'stay',
): Promise<LogoutAnswer> {
  const question = QUESTION.open(deps.keys, sealed)
  if (!question) return { kind: 'broken' }
  if (question.expiresAt <= deps.now()) return { kind: 'expired' }
  if (decision === 'stay') return { kind: 'stayed' }
  const session = await findSession(deps, sessionId)
  // The user has signed in again meanwhile, perhaps with another wallet. The question was about the earlier session.
  if (session && session.hash !== question.sessionHash) return { kind: 'expired' }
  if (session) await endSession(deps, session)
  else await confirmEnded(deps, sessionId)
  // The client's registered redirect URIs may have changed since the question.
  const client = question.clientId === null ? null : await deps.clients.findRegistered(question.clientId)
  const app = client && { clientName: client.name, ...logoutPlace(client, question.to) }
  const isStillRegistered = client?.postLogoutRedirectUris.includes(question.uri ?? '')
  return { kind: 'signed_out', to: isStillRegistered ? question.to : null, app }
}

function refusedLogout(fault: LogoutFault, reason: PageReason): LogoutOutcome {
  return { kind: 'refused', fault, reason }
}
