/**
 * The parameters of an authorization request as received: from the query, a request object or a pushed request. The same code reads
 * all three, so the same rules apply to each (RFC 9126 §4).
 */
import type { Form } from '../../protocol/oauth/form.ts'
import { invalidRequest } from '../../protocol/oauth/oauth-error.ts'
import { type TakenParameters, takeParameters } from '../../protocol/oauth/parameters.ts'
import type { ParameterName } from '../../protocol/oauth/reasons.ts'
import { redirectUriMatches } from '../../protocol/oauth/redirect-uri.ts'
import type { AuthorizationRequest, ResponseTarget } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { portRuleOf } from '../model/redirect-rules.ts'
import { readRequest } from './authorize-parameters.ts'
import { OPENID_PARAMETERS, type Prompt, readPrompt } from './openid-parameters.ts'
import { chooseResponseMode } from './response-mode.ts'

/** The parameters of a request, without `resource`, which may be repeated. */
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

/** The parameters that contain or name a request object (RFC 9101 §5). */
export const REQUEST_OBJECT_PARAMETERS = ['request', 'request_uri'] as const

export type ReceivedRequest = {
  form: Form
  taken: TakenParameters<(typeof REQUEST_PARAMETERS)[number] | (typeof REQUEST_OBJECT_PARAMETERS)[number], 'resource'>
  /** true if the client signed the request (RFC 9101) */
  signed: boolean
  /** the id of the pushed request (RFC 9126); null if the request was not pushed */
  pushedId: string | null
}

/** Why the response cannot be redirected. */
export type RedirectFault = 'redirect_uri_missing' | 'redirect_uri_mismatch'

export function takeRequest(form: Form, { signed = false, pushedId = null as string | null } = {}): ReceivedRequest {
  const taken = takeParameters(form, [...REQUEST_PARAMETERS, ...REQUEST_OBJECT_PARAMETERS], ['resource'])
  return { form, taken, signed, pushedId }
}

/** The first known parameter that was sent more than once. */
export function repeatedParameter({ taken }: ReceivedRequest): ParameterName | null {
  return taken.faults.find((fault) => fault.reason === 'parameter_repeated')?.parameter ?? null
}

/** Where and how to send the response: the redirect URI of the request, if the client registered it, and the response mode. */
export function readResponseTarget(client: Client, { form, taken }: ReceivedRequest): ResponseTarget | RedirectFault {
  const redirectUri = taken.values.redirect_uri
  const misread = taken.faults.some((fault) => fault.parameter === 'redirect_uri')
  if (redirectUri === null && !misread) return 'redirect_uri_missing'
  if (redirectUri === null || !redirectUriMatches(client.redirectUris, redirectUri, portRuleOf(client))) {
    return 'redirect_uri_mismatch'
  }
  // Percent-encoded as received; the bytes need not be UTF-8.
  const sent = (name: string): string | null => form.get(name)?.[0]?.encoded || null
  // FAPI 2.0 Security Profile §5.3.2.2: "shall return an iss parameter in the authorization response"
  const answersIss = client.profile === 'fapi2' || sent('response_type') !== null
  const { mode: responseMode } = chooseResponseMode(client, taken.values.response_mode, redirectUri)
  const state = responseMode !== 'query' && hasUnsendableState(form) ? null : sent('state')
  return { clientId: client.id, redirectUri, responseMode, state, answersIss }
}

/** A JWT can contain only text (JARM §2.1), and a form changes line breaks. A query can contain any bytes. */
function hasUnsendableState(form: Form): boolean {
  const text = form.get('state')?.[0]?.text
  return text === null || (text !== undefined && /\p{Cc}/u.test(text))
}

/** Checks all parameters of a request. Throws the error that is sent to the redirect URI. */
export function checkRequest(
  deps: Deps,
  client: Client,
  { form, taken, signed, pushedId }: ReceivedRequest,
  target: ResponseTarget,
): { request: AuthorizationRequest; prompt: Prompt } {
  if (target.responseMode !== 'query' && hasUnsendableState(form))
    throw invalidRequest('state_not_text', 'In this response_mode state must be UTF-8 without control characters.')
  // In a query, `state` can contain any bytes, and is returned unchanged.
  const unreadable = taken.faults.find((fault) => fault.parameter !== 'state')
  if (unreadable) throw invalidRequest(`${unreadable.parameter}_not_utf8`, `${unreadable.parameter} is not UTF-8.`)
  // RFC 9126 §2.3, FAPI 2.0 Message Signing §5.3.1, RFC 9101 §10.5: "the server MUST reject the authorization request from the client that does not conform"
  if (client.requestObjectSigned && !signed) throw invalidRequest('request_not_signed', 'This client must sign its requests.')
  const request = { ...readRequest(deps, client, taken.values, target), pushedId }
  return { request, prompt: readPrompt(taken.values.prompt) }
}
