import { DPOP_ALGORITHMS } from '@grantor/protocol/dpop'
import { GRANT_TYPES } from './grant-types.ts'
import { RESPONSE_MODES } from './response-mode.ts'
import { SCOPE_CLAIMS } from './standard-scopes.ts'
import { UI_LOCALES } from './ui-locales.ts'

/**
 * Authorization server metadata (RFC 8414 §2, RFC 9700 §2.6, OpenID Connect Discovery §3). Only supported features are
 * listed, empty lists are left out (RFC 8414 §3.2, Discovery §4.2), and no endpoint has a fragment (RFC 6749 §3.1,
 * §3.2). The issuer is the `iss` of every token (Discovery §4.3, Core §16.15).
 */
export type MetadataFacts = {
  issuer: string
  scopes: readonly string[]
  /** whether client ids may be URLs of metadata documents */
  clientMetadata: boolean
  /** whether clients may register themselves */
  dynamicRegistration: boolean
  /** the algorithms in which a published key signs now */
  signingAlgorithms: readonly string[]
  /** the values of `acr` that a sign-in can have */
  acrValues: readonly string[]
}

export function serverMetadata(facts: MetadataFacts): Record<string, unknown> {
  const { issuer } = facts
  const clientAuthMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt']
  // RFC 8414 §2: this list is required if private_key_jwt is listed. The value "none" MUST NOT be used.
  // Clients that no operator registered may also sign with RS256.
  const clientAlgorithms = ['ES256', 'PS256', 'EdDSA', ...(facts.clientMetadata || facts.dynamicRegistration ? ['RS256'] : [])]
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
    // RFC 8628 §4
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    token_endpoint: `${issuer}/oauth/token`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    // docs/guides/approvals.md
    approvals_endpoint: `${issuer}/oauth/approvals`,
    // docs/guides/limits.md
    draw_endpoint: `${issuer}/oauth/draw`,
    // docs/reference/feed.md
    endings_endpoint: `${issuer}/oauth/endings`,
    jwks_uri: `${issuer}/oauth/jwks`,
    scopes_supported: facts.scopes,
    response_types_supported: ['code'],
    // JARM §2.3, and OAuth 2.0 Form Post Response Mode §2
    response_modes_supported: [...RESPONSE_MODES, 'jwt'],
    grant_types_supported: GRANT_TYPES,
    token_endpoint_auth_methods_supported: [...clientAuthMethods, 'none'],
    revocation_endpoint_auth_methods_supported: [...clientAuthMethods, 'none'],
    introspection_endpoint_auth_methods_supported: clientAuthMethods,
    token_endpoint_auth_signing_alg_values_supported: clientAlgorithms,
    revocation_endpoint_auth_signing_alg_values_supported: clientAlgorithms,
    introspection_endpoint_auth_signing_alg_values_supported: clientAlgorithms,
    // RFC 9701 §7
    introspection_signing_alg_values_supported: facts.signingAlgorithms,
    // JARM §4
    authorization_signing_alg_values_supported: facts.signingAlgorithms,
    // RFC 9449 §5.1
    dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
    // RFC 9126 §2, §5. Single clients can be registered so that they must push.
    require_pushed_authorization_requests: false,
    // RFC 9101 §10.5, OpenID Connect Discovery §3. `request_uri` is not supported for web addresses; the URI of a
    // pushed request works (RFC 9126 §5).
    require_signed_request_object: false,
    request_parameter_supported: true,
    request_uri_parameter_supported: false,
    request_object_signing_alg_values_supported: clientAlgorithms,
    // RFC 8414 §2, RFC 9700 §2.1.1
    code_challenge_methods_supported: ['S256'],
    // Client ID Metadata Document §6
    ...(facts.dynamicRegistration ? { registration_endpoint: `${issuer}/oauth/register` } : {}),
    ...(facts.clientMetadata ? { client_id_metadata_document_supported: true } : {}),
    // RFC 9207 §2.3, §3
    authorization_response_iss_parameter_supported: true,
    // OpenID Connect Initiating User Registration §5; the values are those of Core §3.1.2.1
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    // RFC 9470 §7: `acr_values` and `max_age` have an effect
    acr_values_supported: facts.acrValues,
  }
}

const ID_TOKEN_CLAIMS = ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'at_hash', 'acr', 'amr', 'sid']

/** OpenID Connect's metadata: all of the server's metadata, and what ID tokens and sessions support. */
export function openidConfiguration(facts: MetadataFacts): Record<string, unknown> {
  const { issuer } = facts
  return {
    ...serverMetadata(facts),
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    // RP-Initiated Logout §2.1
    end_session_endpoint: `${issuer}/oauth/logout`,
    // Core §8: every client receives the same `sub`
    subject_types_supported: ['public'],
    // Discovery §3: "The algorithm RS256 MUST be included."
    id_token_signing_alg_values_supported: facts.signingAlgorithms,
    // Core §5.6
    claim_types_supported: ['normal'],
    claims_supported: [...ID_TOKEN_CLAIMS, ...SCOPE_CLAIMS],
    ui_locales_supported: [...UI_LOCALES],
    // Stated because a missing `request_uri_parameter_supported` means true, and because a missing
    // `claims_parameter_supported` leaves readers in doubt.
    claims_parameter_supported: false,
    // Back-Channel Logout §2.1
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }
}
