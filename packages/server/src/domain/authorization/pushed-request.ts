/**
 * Pushed authorization requests (RFC 9126): the app sends the request to the service directly. The browser carries only the
 * `request_uri`.
 *
 * A `request_uri` works for one client, for 60 seconds, until a code is issued. The user may have to sign in first or may reload the
 * page, so the `request_uri` can be used several times before that. Spending the request is one conditional update: if several requests
 * race, one gets a code.
 */
import { randomBytes } from 'node:crypto'
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import { type Form, parseForm, serializeForm } from '../../protocol/oauth/form.ts'
import { invalidDpopProof, invalidRequest, OAuthError } from '../../protocol/oauth/oauth-error.ts'
import { requestUriOf } from '../../protocol/oauth/request-uri.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { type DpopProof, type PresentedProof, readProof, spendProof } from '../tokens/dpop.ts'
import { openRequestObject } from './request-object.ts'
import {
  checkRequest,
  REQUEST_PARAMETERS,
  type ReceivedRequest,
  readResponseTarget,
  repeatedParameter,
  takeRequest,
} from './request-parameters.ts'

/** Seconds from the push to the authorization request (RFC 9126 §2.2). A login that has begun may end later. */
const LIFETIME = 60
/** Characters. A confirmation form contains the sealed request, and must be smaller than the limit for a form. */
const FORM_AT_MOST = 8000

/** The stored parameters. They are sealed, because they may include an `id_token_hint`. */
type StoredRequest = { form: string; signed: boolean }

const STORED_REQUEST = sealedFormat<StoredRequest>('pushedRequest')

/** `expiresIn` in seconds. */
export type PushedResponse = { requestUri: string; expiresIn: number }

/** `network`: the network of the caller. */
type Push = { form: Form; presented: PresentedProof; network: string }

/** Stores the request of an authenticated client. A request that the authorization endpoint would refuse is refused here (§2.1). */
export async function pushRequest(deps: Deps, client: Client, push: Push): Promise<PushedResponse> {
  const proof = readProof(deps, push.presented, null)
  const received = await readPushedForm(deps, client, push)
  requireAcceptable(deps, client, received)
  const stored: StoredRequest = { form: serializeForm(bindToKey(proof, requestPart(received.form))), signed: received.signed }
  if (stored.form.length > FORM_AT_MOST) throw invalidRequest('request_too_long', 'The request is too long.')

  if (proof) await spendProof(deps, proof, client.id)
  const id = randomBytes(32).toString('base64url')
  const request = STORED_REQUEST.seal(deps.keys, stored)
  await deps.store.pushedRequests.push({ id, clientId: client.id, request, expiresAt: deps.now() + LIFETIME })
  deps.audit({ event: 'request_pushed', client_id: client.id })
  return { requestUri: requestUriOf(id), expiresIn: LIFETIME }
}

async function readPushedForm(deps: Deps, client: Client, { form, network }: Push): Promise<ReceivedRequest> {
  const received = takeRequest(form)
  const repeated = repeatedParameter(received)
  if (repeated !== null) throw invalidRequest(`${repeated}_repeated`, `${repeated} was sent more than once.`)
  const { request, request_uri: requestUri } = received.taken.values
  // §2.1: "The authorization server MUST reject the request if the request_uri authorization request parameter is provided."
  if (requestUri !== null) throw invalidRequest('request_uri_pushed', 'request_uri cannot be pushed.')
  // §3: beside a request object, other parameters of the form are ignored.
  if (request === null) return received
  return takeRequest(await openRequestObject(deps, client, { text: request, network }), { signed: true })
}

function requireAcceptable(deps: Deps, client: Client, received: ReceivedRequest): void {
  const target = readResponseTarget(client, received)
  // RFC 9126 §7.2: the redirect URI must be registered here too
  if (target === 'redirect_uri_missing') throw invalidRequest(target, 'redirect_uri is required.')
  if (target === 'redirect_uri_mismatch') throw invalidRequest(target, 'redirect_uri is not a registered one.')
  checkRequest(deps, client, received, target)
}

/** The form without the parameters that authenticate the client. */
function requestPart(form: Form): Form {
  const names: string[] = [...REQUEST_PARAMETERS, 'resource']
  return new Map([...form].filter(([name]) => names.includes(name)))
}

/** RFC 9449 §10.1: a proof has the same effect as the parameter `dpop_jkt`. If the two name different keys, the request is refused. */
function bindToKey(proof: DpopProof | null, form: Form): Form {
  if (proof === null) return form
  const [named] = form.get('dpop_jkt') ?? []
  if (named?.encoded && named.text !== proof.jkt) throw invalidDpopProof('proof_key_is_not_dpop_jkt')
  return new Map([...form, ['dpop_jkt', [{ text: proof.jkt, encoded: proof.jkt }]]])
}

/** Why a pushed request cannot be used; for the log only. */
export type PushedFault = 'pushed_unknown' | 'pushed_by_another_client' | 'pushed_expired' | 'pushed_spent'

/** Reads the pushed request of a client. The caller checks the parameters again: the client's registration may have changed (RFC 9126 §7.4). */
export async function findPushed(deps: Deps, client: Client, id: string): Promise<ReceivedRequest | PushedFault> {
  const pushed = await deps.store.pushedRequests.readPushed(id)
  if (!pushed) return 'pushed_unknown'
  // §2.2: "The request_uri value MUST be bound to the client that posted the authorization request."
  if (pushed.clientId !== client.id) return 'pushed_by_another_client'
  if (pushed.spentAt !== null) return 'pushed_spent'
  // §4: "An expired request_uri MUST be rejected as invalid."
  if (pushed.expiresAt <= deps.now()) return 'pushed_expired'
  return openPushed(deps, id, pushed.request) ?? 'pushed_unknown'
}

function openPushed(deps: Deps, id: string, sealed: string): ReceivedRequest | null {
  const stored = STORED_REQUEST.open(deps.keys, sealed)
  return stored ? takeRequest(parseForm(stored.form), { signed: stored.signed, pushedId: id }) : null
}

/** The request of a login, if the request is too long for the challenge. Null if the request can no longer be accepted. */
export async function requestOfLogin(deps: Deps, id: string): Promise<AuthorizationRequest | null> {
  const pushed = await deps.store.pushedRequests.readPushed(id)
  const client = pushed && (await deps.clients.findEnabled(pushed.clientId, null))
  const received = pushed && openPushed(deps, id, pushed.request)
  if (!client || !received) return null
  const target = readResponseTarget(client, received)
  if (typeof target === 'string') return null
  try {
    // The login satisfies `max_age` and `prompt`.
    return { ...checkRequest(deps, client, received, target).request, maxAge: null }
  } catch (error) {
    if (error instanceof OAuthError) return null
    throw error
  }
}
