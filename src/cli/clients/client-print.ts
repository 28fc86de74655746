/** Prints clients, for people and as JSON. A new secret is printed once. */
import type { Client } from '../../domain/model/records.ts'
import { columns, facts, time } from '../terminal/print.ts'

/** Exactly these members. `client_secret` is null for a public client, which has no secret. */
export function registeredJson(client: Client, secret: string | null): string {
  return JSON.stringify({
    client_id: client.id,
    client_secret: secret,
    name: client.name,
    redirect_uris: client.redirectUris,
    scopes: client.scopes,
    type: client.type,
    consent: client.consent,
  })
}

/** All properties of a client except its secrets, with the names of RFC 7591 §2 if it has one. Times are epoch seconds. */
export function clientRecord(client: Client) {
  return {
    client_id: client.id,
    name: client.name,
    type: client.type,
    redirect_uris: client.redirectUris,
    scopes: client.scopes,
    default_scopes: client.defaultScopes,
    resources: client.resources,
    resource_server: client.resourceServer,
    exchange_resources: client.exchangeResources,
    consent: client.consent,
    require_pkce: client.requirePkce,
    token_endpoint_auth_method: client.authMethod,
    grant_types: client.grantTypes,
    profile: client.profile,
    jwks: client.jwks,
    jwks_uri: client.jwksUri,
    require_pushed_authorization_requests: client.requirePushedRequests,
    require_signed_request_object: client.requestObjectSigned,
    dpop_bound_access_tokens: client.dpopBound,
    id_token_signed_response_alg: client.idTokenAlgorithm,
    introspection_signed_response_alg: client.introspectionSigned,
    authorization_signed_response_alg: client.authorizationAlgorithm,
    response_modes: client.responseModes,
    post_logout_redirect_uris: client.postLogoutRedirectUris,
    backchannel_logout_uri: client.backchannelLogoutUri,
    backchannel_logout_session_required: client.backchannelLogoutSessionRequired,
    secrets: client.secrets.map(({ expiresAt }) => ({ expires_at: expiresAt })),
    created_at: client.createdAt,
    disabled_at: client.disabledAt,
  }
}

export function clientFacts(client: Client): string[] {
  return facts([
    ['client_id', client.id],
    ['name', client.name],
    ['type', client.type],
    ...client.redirectUris.map((uri) => ['redirect_uri', uri] as const),
    ['scopes', client.scopes.join(' ')],
    ['default scopes', client.defaultScopes.join(' ')],
    ...client.resources.map((uri) => ['resource', uri] as const),
    ...(client.resourceServer === null ? [] : [['resource server of', client.resourceServer] as const]),
    ...client.exchangeResources.map((uri) => ['exchanges tokens for', uri] as const),
    ['consent', client.consent],
    ['PKCE', client.requirePkce || client.type !== 'confidential' ? 'required' : 'optional'],
    ['authenticates by', client.authMethod],
    ['grant types', client.grantTypes.join(' ') || 'none'],
    ...factsBeyondUsual(client),
    [
      'secrets',
      client.secrets.map(({ expiresAt }) => (expiresAt === null ? 'one' : `one until ${time(expiresAt)}`)).join(', ') || 'none',
    ],
    ['created', time(client.createdAt)],
    ['state', client.disabledAt === null ? 'enabled' : `disabled since ${time(client.disabledAt)}`],
  ])
}

export function clientTable(clients: readonly Client[]): string[] {
  return columns(
    ['CLIENT_ID', 'NAME', 'TYPE', 'CONSENT', 'STATE'],
    clients.map((client) => [
      client.id,
      client.name,
      client.type,
      client.consent,
      client.disabledAt === null ? 'enabled' : 'disabled',
    ]),
  )
}

/** Properties that most clients do not use are printed only if they are set. */
function factsBeyondUsual(client: Client): (readonly [string, string])[] {
  const rules = [...(client.requirePushedRequests ? ['pushed'] : []), ...(client.requestObjectSigned ? ['signed'] : [])].join(
    ' and ',
  )
  const { jwks, jwksUri, introspectionSigned, backchannelLogoutUri, backchannelLogoutSessionRequired: named } = client
  return [
    ...(client.profile === 'default' ? [] : [['profile', client.profile] as const]),
    ...(jwks === null
      ? []
      : [['public keys', jwks.keys.map(({ kid }) => (typeof kid === 'string' ? kid : 'one without kid')).join(', ')] as const]),
    ...(jwksUri === null ? [] : [['public keys at', jwksUri] as const]),
    ...(rules === '' ? [] : [['requests', `${rules} only`] as const]),
    ...(client.dpopBound ? [['access tokens', 'bound by DPoP only'] as const] : []),
    ...(client.idTokenAlgorithm === 'ES256' ? [] : [['ID tokens', client.idTokenAlgorithm] as const]),
    ...(introspectionSigned === null ? [] : [['signed introspection', introspectionSigned] as const]),
    ...(client.authorizationAlgorithm === 'ES256' ? [] : [['signed responses', client.authorizationAlgorithm] as const]),
    ...(client.responseModes === null ? [] : [['response modes', client.responseModes.join(' ')] as const]),
    ...client.postLogoutRedirectUris.map((uri) => ['post-logout redirect_uri', uri] as const),
    ...(backchannelLogoutUri === null
      ? []
      : [['notified of logouts at', `${backchannelLogoutUri}${named ? ', session named' : ''}`] as const]),
  ]
}
