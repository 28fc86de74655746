/** A checked device authorization request (RFC 8628 §3.1). The device code and the login challenge contain the request. */
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'

/** The kind of place from which the device sent the request, never precise. */
export type DevicePlace = {
  /** the first part of the address, such as `203.0.113`; empty if unknown */
  network: string
  /** the name of the program, without its version; of a browser also that of its system, as in `Firefox/Windows`; empty if unknown */
  program: string
}

export type DeviceRequest = {
  /** the id of the grant that the request may lead to; identifies the request */
  grantId: string
  /** eight letters (`protocol/oauth/user-code.ts`) */
  userCode: string
  clientId: string
  scopes: string[]
  resources: string[]
  /** as in an authorization request; absent if no scope has a limit */
  limit?: ScopeLimit
  /** the thumbprint of the key that the device code is bound to */
  dpopJkt: string | null
  place: DevicePlace
  /** epoch seconds */
  expiresAt: number
}
