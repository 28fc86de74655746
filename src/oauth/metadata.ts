/** Authorization server metadata (RFC 8414 §2). Only what works is named. */
export type MetadataFacts = {
  issuer: string
  scopes: readonly string[]
}

export function serverMetadata(facts: MetadataFacts): Record<string, unknown> {
  const { issuer } = facts
  const clientAuthMethods = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    jwks_uri: `${issuer}/oauth/jwks`,
    scopes_supported: facts.scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: [...clientAuthMethods, 'none'],
    revocation_endpoint_auth_methods_supported: [...clientAuthMethods, 'none'],
    introspection_endpoint_auth_methods_supported: clientAuthMethods,
    // RFC 7636 §6.2
    code_challenge_methods_supported: ['S256'],
    // RFC 9207 §3
    authorization_response_iss_parameter_supported: true,
    // OpenID Connect Initiating User Registration §5; the values are those of Core §3.1.2.1
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  }
}
