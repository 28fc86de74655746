/** What is known of a call that this resource checked. */
import type { AccessToken } from './access-token.ts'
import { findAccessToken } from './checked-tokens.ts'

/** The text of the token of a call, and every scope that the API has required of the token. */
export type CheckedCall = { text: string; required: Set<string> }

/**
 * The token of a call and what is known of the call. `method` is the function of the resource that needs the call.
 *
 * @throws TypeError if this resource did not check the call
 */
export function findCheckedCall(
  calls: WeakMap<AccessToken, CheckedCall>,
  call: object | undefined,
  method: string,
): CheckedCall & { token: AccessToken } {
  const token = findAccessToken(call) ?? (call as AccessToken | undefined)
  const checked = token && calls.get(token)
  if (!checked) throw new TypeError(`${method} needs a request that this resource checked, or its access token`)
  return { ...checked, token }
}

export function schemeOf({ keyThumbprint }: AccessToken): 'Bearer' | 'DPoP' {
  return keyThumbprint === undefined ? 'Bearer' : 'DPoP'
}
