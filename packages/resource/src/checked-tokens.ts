import type { AccessToken } from './access-token.ts'

/** An entry is removed when the request is garbage collected. */
const tokens = new WeakMap<object, AccessToken>()

/** Keeps the checked token of a request for the handler. */
export function keepAccessToken(request: object, token: AccessToken): void {
  tokens.set(request, token)
}

/** The checked access token of a request; undefined if no adapter checked this request. */
export function findAccessToken(request: object | undefined): AccessToken | undefined {
  return request && tokens.get(request)
}

/**
 * The checked access token of a request, or of the `authInfo` of a tool. The types of the MCP SDK allow `undefined`, for which this throws too.
 *
 * @throws Error if no `requireToken` ran before the handler: a route that is not protected by mistake must not work.
 */
export function accessTokenOf(request: object | undefined): AccessToken {
  const token = findAccessToken(request)
  if (!token) throw new Error('this request has no checked access token: put requireToken before the handler')
  return token
}
