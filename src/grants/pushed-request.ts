/**
 * Pushed authorization requests (RFC 9126): an app hands its request in behind the browser's back, and sends the browser with a
 * name for it.
 *
 * The name works for its client, for 60 seconds, and until a code is issued: not only once, because a person may have to sign in
 * first, or reload. Spending it is one conditional update, so of any number of simultaneous requests one gets a code.
 */
import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../keys/sealed.ts'
import { type Form, parseForm, serializeForm } from '../oauth/form.ts'
import { invalidDpopProof, invalidRequest, OAuthError } from '../oauth/oauth-error.ts'
import { requestUriOf } from '../oauth/request-uri.ts'
import {
  type AskedRequest,
  REQUEST_PARAMETERS,
  readAnswerable,
  readAsked,
  repeatedParameter,
  takeRequest,
} from './asked-request.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import { type DpopProof, type PresentedProof, readProof, spendProof } from './dpop.ts'
import type { Client } from './model.ts'
import { openRequestObject } from './request-object.ts'

/** Seconds from the push to the browser's coming (RFC 9126 §2.2); a login that has begun may end later. */
const LIFETIME = 60
/** Characters; sealed into a confirmation's form it must still be well below what a form may have. */
const FORM_AT_MOST = 8000

/** What is kept: the parameters as text, sealed, because an `id_token_hint` may be among them. */
type Kept = { form: string; signed: boolean }

/** `expiresIn` in seconds. */
export type PushedResponse = { requestUri: string; expiresIn: number }

/** Takes a request of an authenticated client. Refused at once is whatever would be refused later (§2.1). */
export async function pushRequest(deps: Deps, client: Client, form: Form, presented: PresentedProof): Promise<PushedResponse> {
  const proof = readProof(deps, presented, null)
  const asked = await askedFor(deps, client, form)
  requireSound(deps, client, asked)
  const kept: Kept = { form: serializeForm(boundTo(proof, requestPart(asked.form))), signed: asked.signed }
  if (kept.form.length > FORM_AT_MOST) throw invalidRequest('request_too_long', 'The request is too long.')

  if (proof) await spendProof(deps, proof)
  const id = randomBytes(32).toString('base64url')
  const request = seal(deps.keys, 'grp', kept)
  await deps.store.pushedRequests.push({ id, clientId: client.id, request, expiresAt: deps.now() + LIFETIME })
  deps.audit({ event: 'request_pushed', client_id: client.id })
  return { requestUri: requestUriOf(id), expiresIn: LIFETIME }
}

async function askedFor(deps: Deps, client: Client, form: Form): Promise<AskedRequest> {
  const asked = takeRequest(form)
  const repeated = repeatedParameter(asked)
  if (repeated !== null) throw invalidRequest(`${repeated}_repeated`, `${repeated} was sent more than once.`)
  const { request, request_uri: requestUri } = asked.taken.values
  // §2.1: "The authorization server MUST reject the request if the request_uri authorization request parameter is provided."
  if (requestUri !== null) throw invalidRequest('request_uri_pushed', 'request_uri cannot be pushed.')
  // §3: beside a request object there is nothing that counts
  return request === null ? asked : takeRequest(await openRequestObject(deps, client, request), { signed: true })
}

function requireSound(deps: Deps, client: Client, asked: AskedRequest): void {
  const answerable = readAnswerable(client, asked)
  // RFC 9126 §7.2: no redirect URI is taken here that was not registered
  if (answerable === 'redirect_uri_missing') throw invalidRequest(answerable, 'redirect_uri is required.')
  if (answerable === 'redirect_uri_mismatch') throw invalidRequest(answerable, 'redirect_uri is not a registered one.')
  readAsked(deps, client, asked, answerable)
}

/** Without what only authenticated the client. */
function requestPart(form: Form): Form {
  const names: string[] = [...REQUEST_PARAMETERS, 'resource']
  return new Map([...form].filter(([name]) => names.includes(name)))
}

/** RFC 9449 §10.1: a proof beside the request says the same as `dpop_jkt` in it, and "MUST reject the request if" they differ. */
function boundTo(proof: DpopProof | null, form: Form): Form {
  if (proof === null) return form
  const [named] = form.get('dpop_jkt') ?? []
  if (named?.encoded && named.text !== proof.jkt) throw invalidDpopProof('proof_key_is_not_dpop_jkt')
  return new Map([...form, ['dpop_jkt', [{ text: proof.jkt, encoded: proof.jkt }]]])
}

/** Why a pushed request cannot be used; for the log only. */
export type PushedFault = 'pushed_unknown' | 'pushed_by_another_client' | 'pushed_expired' | 'pushed_spent'

/** A pushed request that its client's browser comes with. It is checked anew, because the client's rules may have changed (RFC 9126 §7.4). */
export async function findPushed(deps: Deps, client: Client, id: string): Promise<AskedRequest | PushedFault> {
  const pushed = await deps.store.pushedRequests.readPushed(id)
  if (!pushed) return 'pushed_unknown'
  // §2.2: "The request_uri value MUST be bound to the client that posted the authorization request."
  if (pushed.clientId !== client.id) return 'pushed_by_another_client'
  if (pushed.spentAt !== null) return 'pushed_spent'
  // §4: "An expired request_uri MUST be rejected as invalid."
  if (pushed.expiresAt <= deps.now()) return 'pushed_expired'
  return openPushed(deps, id, pushed.request) ?? 'pushed_unknown'
}

function openPushed(deps: Deps, id: string, sealed: string): AskedRequest | null {
  const kept = unseal(deps.keys, 'grp', sealed) as Kept | undefined
  return kept ? takeRequest(parseForm(kept.form), { signed: kept.signed, pushedId: id }) : null
}

/** The request of a login that has begun, where it is too long for the challenge to carry. Null where it cannot be taken any more. */
export async function requestOfLogin(deps: Deps, id: string): Promise<AuthorizationRequest | null> {
  const pushed = await deps.store.pushedRequests.readPushed(id)
  const client = pushed && (await deps.clients.findEnabled(pushed.clientId))
  const asked = pushed && openPushed(deps, id, pushed.request)
  if (!client || !asked) return null
  const answerable = readAnswerable(client, asked)
  if (typeof answerable === 'string') return null
  try {
    // The login satisfies `max_age` and `prompt`.
    return { ...readAsked(deps, client, asked, answerable).request, maxAge: null }
  } catch (error) {
    if (error instanceof OAuthError) return null
    throw error
  }
}
