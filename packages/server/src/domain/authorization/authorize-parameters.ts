/** Checks the parameters of an authorization request against the client's registration (OpenID Connect Core §3.1.2.2). */
import { isCodeChallenge } from '../../protocol/oauth/code-challenge.ts'
import { invalidRequest, unauthorizedClient, unsupportedResponseType } from '../../protocol/oauth/oauth-error.ts'
import type { Parameters } from '../../protocol/oauth/parameters.ts'
import { isSignedMode } from '../../protocol/oauth/response-mode.ts'
import { chooseUiLocale } from '../../protocol/oauth/ui-locales.ts'
import { requireSigningOfProfile } from '../clients/profile-signing.ts'
import type { AuthorizationRequest, ResponseTarget } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { signingKeyOf } from '../tokens/signing-key.ts'
import {
  type OpenIdParameters,
  readHint,
  readMaxAge,
  readNeedsSignature,
  readNonce,
  refuseUnsupported,
} from './openid-parameters.ts'
import { readScopesAndResources } from './requested-scopes.ts'
import { chooseResponseMode } from './response-mode.ts'

export type RequestParameters = Parameters<
  'response_type' | 'scope' | 'code_challenge' | 'code_challenge_method' | 'dpop_jkt' | 'prompt',
  'resource'
> &
  OpenIdParameters

export function readRequest(
  deps: Deps,
  client: Client,
  parameters: RequestParameters,
  target: ResponseTarget,
): AuthorizationRequest {
  // RFC 6749 §3.1.1, RFC 9700 §2.1.2: no other response type is supported. The default is `code`: client_id and redirect_uri are sufficient.
  if (parameters.response_type !== null && parameters.response_type !== 'code') throw unsupportedResponseType()
  requireSigningOfProfile(deps, client)
  // FAPI 2.0 Security Profile §5.3.2.2: "shall require the value of response_type [...] to be code"
  if (client.profile === 'fapi2' && parameters.response_type === null)
    throw invalidRequest('response_type_missing', 'This client must send response_type=code.')
  refuseUnsupported(parameters)
  const { refusal } = chooseResponseMode(client, parameters.response_mode, target.redirectUri)
  if (refusal) throw refusal
  // If the response cannot be signed, this throws before anything is spent.
  if (isSignedMode(target.responseMode)) signingKeyOf(deps, client.authorizationAlgorithm)
  if (!client.grantTypes.includes('authorization_code')) throw unauthorizedClient('grant_type_not_registered')
  const hint = readHint(deps, client, parameters)
  if (hint === 'unknown_id_token') deps.audit({ event: 'id_token_hint_unknown', client_id: client.id })
  return {
    ...target,
    codeChallenge: readCodeChallenge(client, parameters),
    ...readScopesAndResources(deps, client, parameters),
    nonce: readNonce(parameters.nonce),
    // An unknown ID token names no wallet, so no session can match the hint. A new login is required.
    maxAge: hint === 'unknown_id_token' ? 0 : readMaxAge(parameters.max_age),
    needsSignature: readNeedsSignature(parameters.acr_values),
    uiLocale: chooseUiLocale(parameters.ui_locales),
    dpopJkt: readKeyThumbprint(parameters.dpop_jkt),
    pushedId: null,
    ...(hint === 'unknown_id_token' ? { loginHint: null, onlyHinted: false } : hint),
  }
}

/** RFC 7636 §4.3, §4.4.1. The default method is `plain`, which is not supported (RFC 9700 §2.1.1). */
function readCodeChallenge(client: Client, parameters: RequestParameters): string | null {
  const { code_challenge: challenge, code_challenge_method: method } = parameters
  if (challenge === null) {
    if (method !== null) throw invalidRequest('challenge_missing', 'code_challenge_method was sent without code_challenge.')
    if (client.type !== 'confidential' || client.requirePkce)
      throw invalidRequest('challenge_required', 'This client must send code_challenge (PKCE, S256).')
    return null
  }
  if (method !== 'S256') throw invalidRequest('challenge_method', 'code_challenge_method must be S256.')
  if (!isCodeChallenge(challenge)) throw invalidRequest('challenge_malformed', 'code_challenge must be 43 base64url characters.')
  return challenge
}

/** RFC 9449 §10: "the JWK Thumbprint [RFC7638] of the proof-of-possession public key using the SHA-256 hash function". */
export function readKeyThumbprint(thumbprint: string | null): string | null {
  if (thumbprint !== null && !/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(thumbprint))
    throw invalidRequest('dpop_jkt_malformed', 'dpop_jkt must be a SHA-256 JWK thumbprint in base64url.')
  return thumbprint
}
