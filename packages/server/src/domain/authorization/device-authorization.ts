/**
 * Device authorization requests (RFC 8628 §3.1, §3.2), and the way from a user code back to the request.
 *
 * The device code contains the request. The eight letters of a user code cannot contain it, and the user may enter them at any node. So
 * the sealed request is stored under the user code: one row for each request, which expires with the request. As with pushed requests,
 * the requests of clients that do not authenticate are limited by network (`http/push-limit.ts`).
 */
import { DEVICE_CODE_GRANT } from '../../protocol/oauth/grant-types.ts'
import { invalidDpopProof, invalidRequest, invalidTarget, unauthorizedClient } from '../../protocol/oauth/oauth-error.ts'
import type { Parameters } from '../../protocol/oauth/parameters.ts'
import { newUserCode, readUserCode, showUserCode } from '../../protocol/oauth/user-code.ts'
import { requireSigningOfProfile } from '../clients/profile-signing.ts'
import type { Deps } from '../model/deps.ts'
import type { DevicePlace, DeviceRequest } from '../model/device-request.ts'
import { newGrantId } from '../model/grant-id.ts'
import type { Client } from '../model/records.ts'
import {
  DEVICE_CODE,
  DEVICE_CODE_LIFETIME,
  POLL_INTERVAL,
  rowOfUserCode,
  sealDeviceRequest,
  unsealDeviceRequest,
} from '../tokens/device-code.ts'
import { type DpopProof, type PresentedProof, readProof, spendProof } from '../tokens/dpop.ts'
import { readKeyThumbprint } from './authorize-parameters.ts'
import { isAnswered } from './device-answer.ts'
import { readScopesAndResources } from './requested-scopes.ts'

/** Characters. A login challenge contains the request and must fit in a URL. */
const REQUEST_AT_MOST = 2000
/** Two live requests have the same user code once in 25 billion pairs. */
const ATTEMPTS_AT_MOST = 3

export type DeviceParameters = Parameters<'scope' | 'dpop_jkt', 'resource'>

/** RFC 8628 §3.2 */
export type DeviceAuthorizationResponse = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

export async function authorizeDevice(
  deps: Deps,
  client: Client,
  { parameters, presented, place }: { parameters: DeviceParameters; presented: PresentedProof; place: DevicePlace },
): Promise<DeviceAuthorizationResponse> {
  requireSigningOfProfile(deps, client)
  if (!client.grantTypes.includes(DEVICE_CODE_GRANT)) throw unauthorizedClient('grant_type_not_registered')
  const proof = readProof(deps, presented, null)
  const expiresAt = deps.now() + DEVICE_CODE_LIFETIME
  const checked = {
    grantId: newGrantId(expiresAt),
    clientId: client.id,
    ...readTarget(deps, client, parameters),
    dpopJkt: readKey(parameters.dpop_jkt, proof),
    place,
    expiresAt,
  }
  if (JSON.stringify(checked).length > REQUEST_AT_MOST) throw invalidRequest('request_too_long', 'The request is too long.')
  if (proof) await spendProof(deps, proof, client.id)
  const request = await storeRequest(deps, checked)
  deps.audit({ event: 'device_requested', client_id: client.id })
  return {
    device_code: DEVICE_CODE.seal(deps.keys, request),
    user_code: showUserCode(request.userCode),
    // §3.3: the user types this URI, so it is short and does not contain the code.
    verification_uri: `${deps.settings.authUrl}/device`,
    verification_uri_complete: verificationUriOf(deps.settings.authUrl, request),
    expires_in: DEVICE_CODE_LIFETIME,
    interval: POLL_INTERVAL,
  }
}

/** The text for a device lists one set of scopes, so resources with different scopes need a request each. */
function readTarget(
  deps: Deps,
  client: Client,
  { scope, resource }: DeviceParameters,
): Pick<DeviceRequest, 'scopes' | 'resources' | 'limit'> {
  const { scopes, resources, scopesByResource, limit } = readScopesAndResources(deps, client, {
    scope,
    resource,
    response_type: 'code',
  })
  if (scopesByResource !== null) throw invalidTarget('more_than_one_resource')
  return { scopes, resources, ...(limit && { limit }) }
}

/** §3.3.1: the URI of the page with the code in it. */
export function verificationUriOf(authUrl: string, { userCode }: DeviceRequest): string {
  return `${authUrl}/device?user_code=${showUserCode(userCode)}`
}

/** As at a pushed request (RFC 9449 §10.1): a proof has the same effect as the parameter `dpop_jkt`. */
function readKey(thumbprint: string | null, proof: DpopProof | null): string | null {
  const named = readKeyThumbprint(thumbprint)
  if (named !== null && proof !== null && named !== proof.jkt) throw invalidDpopProof('proof_key_is_not_dpop_jkt')
  return named ?? proof?.jkt ?? null
}

/** Stores the request under a new user code, or under another one if a stored request has this code. */
async function storeRequest(deps: Deps, checked: Omit<DeviceRequest, 'userCode'>): Promise<DeviceRequest> {
  for (let attempt = 0; attempt < ATTEMPTS_AT_MOST; attempt++) {
    const request = { ...checked, userCode: newUserCode() }
    const id = rowOfUserCode(request.userCode)
    const sealed = sealDeviceRequest(deps.keys, request)
    const { clientId, expiresAt } = request
    await deps.store.pushedRequests.push({ id, clientId, request: sealed, expiresAt })
    if ((await deps.store.pushedRequests.readPushed(id))?.request === sealed) return request
  }
  throw new Error('no user code is free')
}

/** Why the request of a device cannot continue. */
export type DeviceFault = 'user_code_answered' | 'device_request_broken' | 'device_request_expired' | 'device_client_unknown'

/** A request that the user may answer; `sealed` is for the form of the page. */
export type OpenDeviceRequest = { request: DeviceRequest; client: Client; sealed: string }

/** The request with the user code that a person entered. */
export async function findByUserCode(deps: Deps, entry: string): Promise<OpenDeviceRequest | DeviceFault | 'user_code_wrong'> {
  const userCode = readUserCode(entry)
  const row = userCode === null ? null : await deps.store.pushedRequests.readPushed(rowOfUserCode(userCode))
  if (!row || row.expiresAt <= deps.now()) return 'user_code_wrong'
  const found = await openDeviceRequest(deps, row.request)
  return found === 'device_request_broken' || found === 'device_request_expired' ? 'user_code_wrong' : found
}

/** The request in the form of the page. */
export async function openDeviceRequest(deps: Deps, sealed: string): Promise<OpenDeviceRequest | DeviceFault> {
  const request = unsealDeviceRequest(deps.keys, sealed)
  if (!request) return 'device_request_broken'
  if (request.expiresAt <= deps.now()) return 'device_request_expired'
  const client = await clientOfDevice(deps, request)
  if (!client) return 'device_client_unknown'
  return (await isAnswered(deps, request)) ? 'user_code_answered' : { request, client, sealed }
}

/** The client of a request; null if the client is disabled or may no longer use device authorization. */
export async function clientOfDevice(deps: Deps, { clientId }: DeviceRequest): Promise<Client | null> {
  const client = await deps.clients.findEnabled(clientId, null)
  return client?.grantTypes.includes(DEVICE_CODE_GRANT) ? client : null
}
