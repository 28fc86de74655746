/**
 * The device code grant (RFC 8628 §3.4, §3.5): a device polls until the user has answered, and then gets tokens.
 *
 * A poll before the answer writes nothing, and costs one read. A DPoP proof is spent only with the device code. The answer is redeemed
 * like an authorization code: at most once, on any number of nodes, and a second use ends the grant.
 */
import { randomUUID } from 'node:crypto'
import { DEVICE_CODE_GRANT } from '../../protocol/oauth/grant-types.ts'
import {
  accessDenied,
  authorizationPending,
  expiredToken,
  invalidGrant,
  slowDown,
  unauthorizedClient,
} from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { DeviceRequest } from '../model/device-request.ts'
import type { Client } from '../model/records.ts'
import type { Code } from './code.ts'
import { DEVICE_CODE, POLL_INTERVAL, readAnswer } from './device-code.ts'
import { bindingOf, type DpopProof, requireKey } from './dpop.ts'
import { chooseResource, newGrantOf, redeem } from './exchange-code.ts'
import { findIdTokenKey, mintTokens, requireScopeLeft, type TokenResponse } from './token-response.ts'

/** The parsed body of the request (RFC 8628 §3.4, RFC 8707 §2.2). */
export type DeviceTokenRequest = {
  deviceCode: string
  resources: string[]
  /** a proof of the key that the tokens will be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

export async function grantToDevice(deps: Deps, client: Client, request: DeviceTokenRequest): Promise<TokenResponse> {
  if (!client.grantTypes.includes(DEVICE_CODE_GRANT)) throw unauthorizedClient('grant_type_not_registered')

  // 1. Open the device code.
  const at = deps.now()
  const { proof } = request
  const device = openDeviceCode(deps, client, request, at)

  // 2. Read the answer of the user.
  if (deps.devicePolls.isTooSoon(device.grantId, POLL_INTERVAL)) throw slowDown()
  const code = await readPermission(deps, device)

  // 3. Check everything that can fail. After the redemption, a repeated request would present a used device code.
  const resource = chooseResource(code, request.resources)
  const scopes = code.firstScopes ?? code.scopes
  requireScopeLeft(deps, client, code, { scopes, resource })
  const idTokenKey = findIdTokenKey(deps, client, scopes)

  // 4. Redeem the answer, and issue the tokens.
  const redemption = { code, grant: newGrantOf(deps, client, { code, proof, at }), proof, attemptId: randomUUID(), at }
  const grant = await redeem(deps, client, redemption)
  const { firstClaims: claims = null } = code
  return mintTokens(deps, client, grant, { scopes, resource, claims, binding: bindingOf(proof), nonce: null, idTokenKey })
}

function openDeviceCode(deps: Deps, client: Client, { deviceCode, proof }: DeviceTokenRequest, at: number): DeviceRequest {
  const device = DEVICE_CODE.open(deps.keys, deviceCode)
  if (!device) throw invalidGrant('device_code_unknown')
  if (device.clientId !== client.id) throw invalidGrant('device_code_of_another_client')
  requireKey(device.dpopJkt, proof)
  if (device.expiresAt <= at) throw expiredToken()
  return device
}

async function readPermission(deps: Deps, device: DeviceRequest): Promise<Code> {
  const answer = await readAnswer(deps, device)
  if (answer === null) throw authorizationPending()
  if (answer === 'denied') throw accessDenied('user_declined')
  return answer
}
