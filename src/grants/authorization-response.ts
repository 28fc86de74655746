/** The response to an authorization request, in the mode that the request asked for (JARM §2.2: a JWT is signed). */
import { signJwt } from '../keys/signed-jwt.ts'
import { encodeFormValue } from '../oauth/form.ts'
import { appendToRedirectUri } from '../oauth/redirect-uri.ts'
import { isFormPost, isSignedMode } from '../oauth/response-mode.ts'
import type { Answerable } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import { signingKeyOf } from './signing-key.ts'

/** A form that the browser posts to the app (OAuth 2.0 Form Post Response Mode §2), from a page that is not stored. */
export type FormPost = { action: string; fields: [name: string, value: string][] }

/** The next address of the browser: a URL to open, or a form to post to the app's redirect URI. */
export type Destination = string | FormPost

/** Seconds in which the client must read a signed response. JARM §2.1 recommends at most ten minutes. */
const SIGNED_RESPONSE_LIFETIME = 600

/** `parameters`: their text, not encoded yet. */
export async function makeResponse(
  deps: Deps,
  request: Answerable,
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
  // `state` goes back as the bytes that came, which need not be text.
  const sent: [string, string][] = state === null ? [] : [['state', state]]
  return appendToRedirectUri(redirectUri, [...parameters.map(encoded), ...sent, ...issuer.map(encoded)])
}

function encoded([name, value]: [string, string]): [string, string] {
  return [name, encodeFormValue(value)]
}

/**
 * JARM §2.1: all parameters as claims, with `iss`, `aud` and `exp`. `iss` of RFC 9207 is this very claim and stands nowhere else
 * (RFC 9207 §2.4, FAPI 2.0 Message Signing §5.4.1). The type is `JWT`: JARM defines none, and there are libraries that refuse types
 * that they do not know.
 */
async function signResponse(deps: Deps, request: Answerable, parameters: [string, string][]): Promise<string> {
  const client = await deps.clients.find(request.clientId)
  const key = signingKeyOf(deps, client?.authorizationAlgorithm ?? 'ES256')
  return signJwt(key, 'JWT', {
    iss: deps.settings.authUrl,
    aud: request.clientId,
    exp: deps.now() + SIGNED_RESPONSE_LIFETIME,
    ...Object.fromEntries([...parameters, ...stateOf(request)]),
  })
}

/** As text: in these modes a `state` that is none was refused. */
function stateOf({ state }: Answerable): [string, string][] {
  return state === null ? [] : [['state', decodeURIComponent(state)]]
}
