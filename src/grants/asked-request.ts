/**
 * The parameters of an authorization request as they came, wherever they came from: the query, a request object, a pushed
 * request. One reading serves them all, so a request is held to the same rules on every way in (RFC 9126 §4).
 */
import type { Form } from '../oauth/form.ts'
import { invalidRequest } from '../oauth/oauth-error.ts'
import { type TakenParameters, takeParameters } from '../oauth/parameters.ts'
import type { ParameterName } from '../oauth/reasons.ts'
import { redirectUriMatches } from '../oauth/redirect-uri.ts'
import type { Answerable, AuthorizationRequest } from './authorization-request.ts'
import { readRequest } from './authorize-parameters.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'
import { OPENID_PARAMETERS, type Prompt, readPrompt } from './openid-parameters.ts'
import { chooseResponseMode } from './response-mode.ts'

/** What a request consists of; `resource` may come more than once. */
export const REQUEST_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'dpop_jkt',
  ...OPENID_PARAMETERS,
] as const

/** Where else a request may be (RFC 9101 §5). */
export const ELSEWHERE = ['request', 'request_uri'] as const

export type AskedRequest = {
  form: Form
  taken: TakenParameters<(typeof REQUEST_PARAMETERS)[number] | (typeof ELSEWHERE)[number], 'resource'>
  /** whether the client signed it (RFC 9101) */
  signed: boolean
  /** of the pushed request it is (RFC 9126) */
  pushedId: string | null
}

/** Why there is nobody to redirect to. */
export type RedirectFault = 'redirect_uri_missing' | 'redirect_uri_mismatch'

export function takeRequest(form: Form, { signed = false, pushedId = null as string | null } = {}): AskedRequest {
  return { form, taken: takeParameters(form, [...REQUEST_PARAMETERS, ...ELSEWHERE], ['resource']), signed, pushedId }
}

/** The first known parameter that came twice. */
export function repeatedParameter({ taken }: AskedRequest): ParameterName | null {
  return taken.faults.find((fault) => fault.reason === 'parameter_repeated')?.parameter ?? null
}

/** Whom to answer and how: the request's redirect URI, if it is one of the client's. */
export function readAnswerable(client: Client, { form, taken }: AskedRequest): Answerable | RedirectFault {
  const redirectUri = taken.values.redirect_uri
  const misread = taken.faults.some((fault) => fault.parameter === 'redirect_uri')
  if (redirectUri === null && !misread) return 'redirect_uri_missing'
  if (redirectUri === null || !redirectUriMatches(client.redirectUris, redirectUri, client.type === 'native')) {
    return 'redirect_uri_mismatch'
  }
  // As they were sent, whether or not their bytes are text.
  const sent = (name: string): string | null => form.get(name)?.[0]?.encoded || null
  // FAPI 2.0 Security Profile §5.3.2.2: "shall return an iss parameter in the authorization response"
  const answersIss = client.profile === 'fapi2' || sent('response_type') !== null
  const { mode: responseMode } = chooseResponseMode(client, taken.values.response_mode, redirectUri)
  const state = responseMode !== 'query' && hasUnsendableState(form) ? null : sent('state')
  return { clientId: client.id, redirectUri, responseMode, state, answersIss }
}

/** JSON holds text only (JARM §2.1), and a form changes line breaks. A query holds any bytes. */
function hasUnsendableState(form: Form): boolean {
  const text = form.get('state')?.[0]?.text
  return text === null || (text !== undefined && /\p{Cc}/u.test(text))
}

/** What is asked for, or the refusal that goes to the redirect URI. */
export function readAsked(
  deps: Deps,
  client: Client,
  { form, taken, signed, pushedId }: AskedRequest,
  answerable: Answerable,
): { request: AuthorizationRequest; prompt: Prompt } {
  if (answerable.responseMode !== 'query' && hasUnsendableState(form))
    throw invalidRequest('state_not_text', 'In this response_mode state must be UTF-8 without control characters.')
  // In a query `state` may hold any bytes at all; it goes back as it came.
  const unreadable = taken.faults.find((fault) => fault.parameter !== 'state')
  if (unreadable) throw invalidRequest(`${unreadable.parameter}_not_utf8`, `${unreadable.parameter} is not UTF-8.`)
  // RFC 9126 §2.3, FAPI 2.0 Message Signing §5.3.1, RFC 9101 §10.5: "the server MUST reject the authorization request from the client that does not conform"
  if (client.requestObjectSigned && !signed) throw invalidRequest('request_not_signed', 'This client must sign its requests.')
  const request = { ...readRequest(deps, client, taken.values, answerable), pushedId }
  return { request, prompt: readPrompt(taken.values.prompt) }
}
