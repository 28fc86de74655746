/** What OpenID Connect adds to an authorization request (Core §3.1.2.1), and what of it is not offered. */
import { encodeFormValue } from '../oauth/form.ts'
import { invalidRequest, registrationNotSupported } from '../oauth/oauth-error.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { isSubset } from '../oauth/scope.ts'
import { parseAddress } from '../wallet/address.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import { openIdTokenHint } from './id-token.ts'
import type { Client } from './model.ts'

/** `display`, `ui_locales`, `claims_locales`, `acr_values` and `claims` are wishes that need not be met: they are not looked at (Core §5.2, §5.5, §15.1). */
export const OPENID_PARAMETERS = ['response_mode', 'nonce', 'max_age', 'login_hint', 'id_token_hint', 'registration'] as const

export type OpenIdParameters = Parameters<(typeof OPENID_PARAMETERS)[number]>

/** Refuses what would otherwise be half-honoured (Core §7.2.1). */
export function refuseUnsupported(parameters: OpenIdParameters): void {
  if (parameters.registration !== null) throw registrationNotSupported()
}

/** Characters, form-urlencoded; an ID token that holds the longest is still one we read ourselves, as a hint. */
const NONCE_AT_MOST = 2000

/** "The value is passed through unmodified", as long as there is room for it. */
export function readNonce(nonce: string | null): string | null {
  if (nonce !== null && encodeFormValue(nonce).length > NONCE_AT_MOST)
    throw invalidRequest('nonce_too_long', `nonce may have ${NONCE_AT_MOST} characters at most, form-urlencoded.`)
  return nonce
}

/** Seconds; "has to be actively re-authenticated" beyond them. */
export function readMaxAge(maxAge: string | null): number | null {
  if (maxAge === null) return null
  if (!/^\d{1,9}$/.test(maxAge)) throw invalidRequest('max_age_malformed', 'max_age must be a whole number of seconds.')
  return Number(maxAge)
}

export type Hint = Pick<AuthorizationRequest, 'loginHint' | 'onlyHinted'>

/** The wallet that is meant. `login_hint` is one only where it is an address; an ID token leaves no doubt, so it comes first. */
export function readHint(deps: Deps, client: Client, parameters: OpenIdParameters): Hint | 'unknown_id_token' {
  const { id_token_hint: idToken, login_hint: loginHint } = parameters
  if (idToken !== null) {
    const hint = openIdTokenHint(deps, idToken)
    // Forged, another client's, or signed with a key that is gone: it names nobody, so no session is the one it means.
    return hint?.clientId === client.id ? { loginHint: hint.wallet, onlyHinted: true } : 'unknown_id_token'
  }
  const parsed = loginHint === null ? null : parseAddress(loginHint)
  return { loginHint: parsed?.kind === 'address' ? parsed.address : null, onlyHinted: false }
}

export type Prompt = { none: boolean; login: boolean; consent: boolean }

const PROMPTS = ['none', 'login', 'consent', 'select_account']

/** "If this parameter contains none with any other value, an error is returned." */
export function readPrompt(prompt: string | null): Prompt {
  const values = prompt?.split(' ') ?? []
  if (!isSubset(values, PROMPTS)) throw invalidRequest('prompt_unknown', 'prompt may be none, login, consent or select_account.')
  if (values.includes('none') && values.length > 1) throw invalidRequest('prompt_none_with_others', 'prompt none stands alone.')
  return {
    none: values.includes('none'),
    // To choose another account is to prove another wallet.
    login: values.includes('login') || values.includes('select_account'),
    consent: values.includes('consent'),
  }
}
