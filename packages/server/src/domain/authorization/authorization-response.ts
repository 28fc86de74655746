/** The response to an authorization request, in the requested response mode (JARM §2.2: a JWT is signed). */
import { signJwt } from '../../protocol/keys/signed-jwt.ts'
import { encodeFormValue } from '../../protocol/oauth/form.ts'
import { appendToRedirectUri } from '../../protocol/oauth/redirect-uri.ts'
import { isFormPost, isSignedMode } from '../../protocol/oauth/response-mode.ts'
import type { ResponseTarget } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import { signingKeyOf } from '../tokens/signing-key.ts'

/** A form that the browser posts to the app (OAuth 2.0 Form Post Response Mode §2). Browsers do not cache the page with the form. */
export type FormPost = { action: string; fields: [name: string, value: string][] }

/** The next step of the browser: it opens a URL, or it posts a form to the app's redirect URI. */
export type Destination = string | FormPost

/** Seconds until a signed response expires. JARM §2.1 recommends at most ten minutes. */
const SIGNED_RESPONSE_LIFETIME = 600

/** The texts of `parameters` are not encoded yet. */
export async function makeResponse(
  deps: Deps,
  request: ResponseTarget,
  parameters: [name: string, value: string][],
): Promise<Destination> {
  const { redirectUri, responseMode, state, answersIss } = request
  if (isSignedMode(responseMode)) {
    const response = await signResponse(deps, request, parameters)
    return isFormPost(responseMode)
      ? { action: redirectUri, fields: [['response', response]] }
      : appendToRedirectUri(redirectUri, [['response', response]])
  }
  const issuer: [string, string][] = answersIss ? [['iss', deps.settings.authUrl]] : []
  if (isFormPost(responseMode)) return { action: redirectUri, fields: [...parameters, ...stateOf(request), ...issuer] }
  // `state` is returned with the received bytes, which need not be UTF-8.
  const sent: [string, string][] = state === null ? [] : [['state', state]]
  return appendToRedirectUri(redirectUri, [...parameters.map(encodeParameter), ...sent, ...issuer.map(encodeParameter)])
}

function encodeParameter([name, value]: [string, string]): [string, string] {
  return [name, encodeFormValue(value)]
}

/**
 * JARM §2.1: all parameters are claims, with `iss`, `aud` and `exp`. The `iss` parameter of RFC 9207 is sent only as this claim
 * (RFC 9207 §2.4, FAPI 2.0 Message Signing §5.4.1). The `typ` is `JWT`: JARM defines no type, and some libraries refuse unknown types.
 */
async function signResponse(deps: Deps, request: ResponseTarget, parameters: [string, string][]): Promise<string> {
  const client = await deps.clients.find(request.clientId)
  const key = signingKeyOf(deps, client?.authorizationAlgorithm ?? 'ES256')
  return signJwt(key, 'JWT', {
    iss: deps.settings.authUrl,
    aud: request.clientId,
    exp: deps.now() + SIGNED_RESPONSE_LIFETIME,
    ...Object.fromEntries([...parameters, ...stateOf(request)]),
  })
}

/** `state` as text. In these modes, a `state` that is not UTF-8 was refused before. */
function stateOf({ state }: ResponseTarget): [string, string][] {
  return state === null ? [] : [['state', decodeURIComponent(state)]]
}
