/** The parameters that OpenID Connect adds to an authorization request (Core §3.1.2.1). */

import { isSubset } from '@grantor/protocol/scope'
import { encodeFormValue } from '../../protocol/oauth/form.ts'
import { invalidRequest, registrationNotSupported } from '../../protocol/oauth/oauth-error.ts'
import type { Parameters } from '../../protocol/oauth/parameters.ts'
import { parseAddress } from '../../protocol/wallet/address.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { ACR, openIdTokenHint } from '../tokens/id-token.ts'

/** `display`, `claims_locales` and `claims` are optional to support and are ignored (Core §5.2, §5.5, §15.1). */
export const OPENID_PARAMETERS = [
  'response_mode',
  'nonce',
  'max_age',
  'acr_values',
  'ui_locales',
  'login_hint',
  'id_token_hint',
  'registration',
] as const

export type OpenIdParameters = Parameters<(typeof OPENID_PARAMETERS)[number]>

/** Refuses `registration` (Core §7.2.1). */
export function refuseUnsupported(parameters: OpenIdParameters): void {
  if (parameters.registration !== null) throw registrationNotSupported()
}

/** Characters, form-urlencoded. The service accepts an ID token with a nonce of this length as a hint. */
const NONCE_AT_MOST = 2000

/** "The value is passed through unmodified". A longer value is refused. */
export function readNonce(nonce: string | null): string | null {
  if (nonce !== null && encodeFormValue(nonce).length > NONCE_AT_MOST)
    throw invalidRequest('nonce_too_long', `nonce may have ${NONCE_AT_MOST} characters at most, form-urlencoded.`)
  return nonce
}

/** In seconds. After a longer time the user "has to be actively re-authenticated". */
export function readMaxAge(maxAge: string | null): number | null {
  if (maxAge === null) return null
  if (!/^\d{1,9}$/.test(maxAge)) throw invalidRequest('max_age_malformed', 'max_age must be a whole number of seconds.')
  return Number(maxAge)
}

/**
 * Whether only a sign-in with a signature meets `acr_values`, the accepted kinds of sign-in in the order of preference (RFC 9470 §5). Unknown
 * values are ignored. A signature is more than vouching, so a request for vouching alone requires nothing.
 */
export function readNeedsSignature(acrValues: string | null): boolean {
  const accepted = acrValues?.split(' ') ?? []
  return accepted.includes(ACR.signature) && !accepted.includes(ACR.vouched)
}

export type Hint = Pick<AuthorizationRequest, 'loginHint' | 'onlyHinted'>

/** The wallet that the app expects. Only an address counts as `login_hint`. If `id_token_hint` is sent, `login_hint` is ignored. */
export function readHint(deps: Deps, client: Client, parameters: OpenIdParameters): Hint | 'unknown_id_token' {
  const { id_token_hint: idToken, login_hint: loginHint } = parameters
  if (idToken !== null) {
    const hint = openIdTokenHint(deps, idToken)
    // A hint that is forged, was issued to another client or is signed with a retired key names no wallet.
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
    // To select an account, the user signs in with a wallet.
    login: values.includes('login') || values.includes('select_account'),
    consent: values.includes('consent'),
  }
}
