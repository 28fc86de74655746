/** Chooses the response mode of an authorization response. */
import { invalidRequest, type OAuthError } from '../../protocol/oauth/oauth-error.ts'
import { formOrigin } from '../../protocol/oauth/redirect-uri.ts'
import { isFormPost, parseResponseMode, RESPONSE_MODES, type ResponseMode } from '../../protocol/oauth/response-mode.ts'
import type { Client } from '../model/records.ts'

/** `refusal`: why the requested mode cannot be used. The error is sent in `mode`. */
export type ChosenMode = { mode: ResponseMode; refusal: OAuthError | null }

/**
 * If a client registered response modes, every response uses one of them, errors included (FAPI 2.0 Message Signing §5.3.3, §5.4.1).
 * If a request has another mode, the error is sent in the first registered mode.
 */
export function chooseResponseMode(client: Client, requested: string | null, redirectUri: string): ChosenMode {
  const registered = client.responseModes ?? RESPONSE_MODES
  const usable = registered.filter((mode) => !isFormPost(mode) || formOrigin(redirectUri) !== null)
  const mode = parseResponseMode(requested)
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
