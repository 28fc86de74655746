/** Which response mode an authorization request is answered in. */
import { invalidRequest, type OAuthError } from '../oauth/oauth-error.ts'
import { formOrigin } from '../oauth/redirect-uri.ts'
import { isFormPost, parseResponseMode, RESPONSE_MODES, type ResponseMode } from '../oauth/response-mode.ts'
import type { Client } from './model.ts'

/** `refusal`: why the mode that was asked for cannot be had. The refusal itself is sent in `mode`. */
export type ChosenMode = { mode: ResponseMode; refusal: OAuthError | null }

/**
 * A client that registered its response modes is answered in no other, errors included (FAPI 2.0 Message Signing §5.3.3, §5.4.1):
 * a request in another mode is refused in the first that it registered.
 */
export function chooseResponseMode(client: Client, asked: string | null, redirectUri: string): ChosenMode {
  const registered = client.responseModes ?? RESPONSE_MODES
  const usable = registered.filter((mode) => !isFormPost(mode) || formOrigin(redirectUri) !== null)
  const mode = parseResponseMode(asked)
  if (mode !== null && usable.includes(mode)) return { mode, refusal: null }
  return { mode: usable[0] ?? 'query', refusal: refuseMode(mode, registered) }
}

function refuseMode(mode: ResponseMode | null, registered: readonly ResponseMode[]): OAuthError {
  if (mode === null)
    return invalidRequest('response_mode_unknown', 'response_mode must be query, form_post, jwt, query.jwt or form_post.jwt.')
  if (!registered.includes(mode))
    return invalidRequest('response_mode_not_registered', 'The client is not registered for this response_mode.')
  return invalidRequest('response_mode_without_form', 'A form cannot be posted to this redirect_uri.')
}
