/** Request objects (RFC 9101): the client signs the authorization request as a JWT, so that the browser cannot change the request. */
import { readClientJwt } from '@grantor/protocol/client-jwt'
import { encodeFormValue, type Form, type FormValue } from '../../protocol/oauth/form.ts'
import { invalidRequestObject, requestNotSupported } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { REQUEST_OBJECT_PARAMETERS, REQUEST_PARAMETERS } from './request-parameters.ts'

type Claims = Record<string, unknown>

/** The type of RFC 9101 §10.8.1 and FAPI 2.0 Message Signing §5.3.1. Libraries without support for types send `JWT` or no type. */
const TYPES = [null, 'jwt', 'oauth-authz-req+jwt']
/** Seconds by which a client's clock may be ahead. */
const CLIENT_CLOCK_AHEAD_AT_MOST = 30
/** Seconds. A request object stays in the history of the browser. */
const MAX_LIFETIME = 3600
/** Seconds from `iat` or `nbf` until a request object without `exp` expires. */
const LIFETIME_WITHOUT_EXP = 600

/** `network`: the network of the caller, which a fetch of the client's keys counts for. */
export type SentRequestObject = { text: string; network: string }

/** The parameters of a request object. Throws unless this client made and signed the object, for this server, and for the present time. */
export async function openRequestObject(deps: Deps, client: Client, { text, network }: SentRequestObject): Promise<Form> {
  // OpenID Connect Core §6.1
  if (client.jwks === null && client.jwksUri === null) throw requestNotSupported()
  // An encrypted object (Core §6.3.1) has five parts. An unsigned object has an empty third part. Both are refused.
  const jwt = readClientJwt(text)
  if (!jwt) throw invalidRequestObject('request_object_malformed')
  if (!TYPES.includes(jwt.typ)) throw invalidRequestObject('request_object_type_wrong')
  requireIssuerAndAudience(deps, client, jwt.claims)
  requireValidTimes(deps.now(), client, jwt.claims)
  const form = formOf(jwt.claims)
  // The signature is checked last, because the keys may have to be fetched. If that fails, the error is `temporarily_unavailable` (RFC 6749 §4.1.2.1).
  const verdict = await deps.clientKeys.check(client, jwt, network)
  if (verdict === 'unusable') throw invalidRequestObject('client_key_unusable')
  // RFC 9101 §6.2, RFC 9126 §3, OpenID Connect Core §6.3.2, §16.7: "the signature [...] MUST be validated using a key associated with the client"
  if (verdict === 'none') throw invalidRequestObject('request_object_signature_wrong')
  return form
}

function requireIssuerAndAudience({ settings }: Deps, client: Client, { iss, aud, sub, client_id: clientId }: Claims): void {
  // RFC 9101 §5, RFC 9126 §3: "The value MUST match the request or request_uri Request Object's client_id."
  if (clientId !== client.id) throw invalidRequestObject('request_object_of_another_client')
  // RFC 8725 §3.8, §3.9: issuer and audience are required.
  if (iss !== client.id) throw invalidRequestObject('request_object_issuer_wrong')
  if (![aud].flat().includes(settings.authUrl)) throw invalidRequestObject('request_object_audience_wrong')
  // RFC 9101 §10.8: a client assertion must not be accepted as a request object, and vice versa.
  if (sub === client.id) throw invalidRequestObject('request_object_is_an_assertion')
}

function requireValidTimes(at: number, { profile }: Client, { exp, nbf, iat }: Claims): void {
  for (const time of [exp, nbf, iat]) {
    if (time !== undefined && !isTime(time)) throw invalidRequestObject('request_object_time_malformed')
  }
  for (const time of [nbf, iat])
    if (isTime(time) && time > at + CLIENT_CLOCK_AHEAD_AT_MOST) throw invalidRequestObject('request_object_of_the_future')
  if (profile === 'fapi2') requireTimesOfProfile(at, exp, nbf)
  const from = iat ?? nbf
  const end = isTime(exp) ? exp : isTime(from) ? from + LIFETIME_WITHOUT_EXP : null
  // Without any time, the object could be replayed as long as the key is registered.
  if (end === null) throw invalidRequestObject('request_object_without_time')
  if (end <= at) throw invalidRequestObject('request_object_expired')
  if (end > at + MAX_LIFETIME + CLIENT_CLOCK_AHEAD_AT_MOST) throw invalidRequestObject('request_object_lives_too_long')
}

/** FAPI 2.0 Message Signing §5.3.1: `nbf` "no longer than 60 minutes in the past", `exp` no longer than 60 minutes after it. */
function requireTimesOfProfile(at: number, exp: unknown, nbf: unknown): void {
  if (!isTime(nbf) || !isTime(exp)) throw invalidRequestObject('request_object_without_exp_or_nbf')
  if (nbf < at - MAX_LIFETIME) throw invalidRequestObject('request_object_too_old')
  if (exp > nbf + MAX_LIFETIME) throw invalidRequestObject('request_object_lives_too_long')
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

/** RFC 9101 §4: "parameter names and string values MUST be included as JSON strings". Numbers are JSON numbers. Several `resource` values are an array (RFC 8707 §2.1). */
function formOf(claims: Claims): Form {
  // RFC 9101 §4, OpenID Connect Core §6.1: "request and request_uri parameters MUST NOT be included in Request Objects."
  if (REQUEST_OBJECT_PARAMETERS.some((name) => name in claims)) throw invalidRequestObject('request_object_within_another')
  const form = new Map<string, FormValue[]>()
  for (const name of REQUEST_PARAMETERS) if (claims[name] !== undefined) form.set(name, [valueOf(claims[name])])
  if (claims.resource !== undefined) form.set('resource', [claims.resource].flat().map(valueOf))
  return form
}

function valueOf(claim: unknown): FormValue {
  const text = Number.isSafeInteger(claim) ? String(claim) : claim
  if (typeof text !== 'string' || !text.isWellFormed()) throw invalidRequestObject('request_object_parameter_malformed')
  return { text, encoded: encodeFormValue(text) }
}
