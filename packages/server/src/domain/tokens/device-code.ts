/**
 * Device codes (RFC 8628 §3.2, §5.2), and the answers to the requests of devices.
 *
 * A device code is sealed: it contains the request, so a poll reads nothing but the answer. The user's answer is a row under the id of
 * the request; the row of the first answer stays. An answer that allows contains everything that the redemption needs, like an
 * authorization code. Only the service reads it.
 */
import { createHash } from 'node:crypto'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Deps } from '../model/deps.ts'
import type { DeviceRequest } from '../model/device-request.ts'
import type { Code } from './code.ts'

/** Seconds from the device authorization request to the end of the device code and of the user code. */
export const DEVICE_CODE_LIFETIME = 900

/** Seconds between two polls (RFC 8628 §3.2). */
export const POLL_INTERVAL = 5

export const DEVICE_CODE = sealedFormat<DeviceRequest>('deviceCode')

const DEVICE_REQUEST = sealedFormat<DeviceRequest>('deviceRequest')
/** A node of a version without limits does not open this request, so it never lets a wallet sign the request without the limit. */
const LIMITED_DEVICE = sealedFormat<DeviceRequest>('limitedDevice')

/** The request as it is stored under the user code, and in the form of the verification page. A row does not reveal the device code. */
export function sealDeviceRequest(ring: KeyRing, request: DeviceRequest): string {
  return (request.limit ? LIMITED_DEVICE : DEVICE_REQUEST).seal(ring, request)
}

/** Undefined if this service did not seal the text. */
export function unsealDeviceRequest(ring: KeyRing, text: string): DeviceRequest | undefined {
  return DEVICE_REQUEST.open(ring, text) ?? LIMITED_DEVICE.open(ring, text)
}

export type DeviceAnswer = 'denied' | Code

/** The name `limited` is for nodes of a version without limits: such a node cannot read the permission, and creates no grant without the limit. */
const DEVICE_ANSWER = sealedFormat<'denied' | Code | { limited: Code }>('deviceAnswer')

/** The id of the row of a request. A `request_uri` cannot contain this id. */
export function rowOfUserCode(userCode: string): string {
  return `user-code:${createHash('sha256').update(userCode).digest('base64url')}`
}

function rowOfAnswer({ grantId }: DeviceRequest): string {
  return `answer:${grantId}`
}

/** Null if the user has not answered. One read. */
export async function readAnswer(deps: Deps, request: DeviceRequest): Promise<DeviceAnswer | null> {
  const row = await deps.store.pushedRequests.readPushed(rowOfAnswer(request))
  if (!row) return null
  const answer = DEVICE_ANSWER.open(deps.keys, row.request)
  // The key that sealed the answer is retired.
  if (answer === undefined || row.clientId !== request.clientId) return 'denied'
  return answer !== 'denied' && 'limited' in answer ? answer.limited : answer
}

/** Stores the answer. False if the request was answered before. */
export async function storeAnswer(deps: Deps, request: DeviceRequest, answer: DeviceAnswer): Promise<boolean> {
  const id = rowOfAnswer(request)
  const sealed = DEVICE_ANSWER.seal(deps.keys, answer !== 'denied' && answer.limit ? { limited: answer } : answer)
  const { clientId, expiresAt } = request
  await deps.store.pushedRequests.push({ id, clientId, request: sealed, expiresAt })
  return (await deps.store.pushedRequests.readPushed(id))?.request === sealed
}
