/** The members of a client. The names are those of RFC 7591 §2 if it has one. A new property of `Client` is one entry here. */
import { CLIENT_DEFAULTS } from '../../domain/model/client-record.ts'
import type { Client } from '../../domain/model/records.ts'
import { SIGNING_ALGORITHMS } from '../../protocol/keys/signing-key.ts'
import { GRANT_TYPES, grantTypes } from '../../protocol/oauth/grant-types.ts'
import { RESPONSE_MODES } from '../../protocol/oauth/response-mode.ts'
import { flag, integer, type RecordMember, type RecordMembers, type Shown, text, texts } from './member.ts'

const lines = (value: unknown): Shown => ((value as string[]).length > 0 ? { lines: value as string[] } : null)
/** The text if the flag is set. */
const ifSet =
  (shown: string) =>
  (value: unknown): Shown =>
    value === true ? shown : null

/** The sections of the page of a client, after the first one. */
const ACCESS = 'Access'
const SECURITY = 'Security'
const TOKENS = 'Tokens and limits'

const YEAR = 31_536_000

/** A lifetime that the client has in place of the service's. `setting` has the service's lifetime. */
function lifetime(
  name: string,
  label: string,
  { setting, words, ...range }: { setting: string; words: string; minimum: number; maximum: number },
): RecordMember {
  return integer(name, label, {
    ...range,
    part: TOKENS,
    nullable: true,
    hint: `In seconds. ${setting} unless given.`,
    given: 'rarely',
    shown: (value) => (value === null ? null : `${value as number} seconds`),
    option: { value: 'SECONDS', words: `${words}; ${setting} unless given.`, off: { words: `Applies ${setting} again.` } },
  })
}

/** The most requests that the client may send to one endpoint in a minute. */
function limit(name: string, label: string, words: string): RecordMember {
  return integer(name, label, {
    minimum: 1,
    maximum: 1_000_000,
    part: TOKENS,
    nullable: true,
    hint: 'Each minute. No limit unless given.',
    given: 'rarely',
    shown: (value) => (value === null ? null : `${value as number} a minute`),
    option: { value: 'COUNT', words: `${words}; no limit unless given.`, off: { words: 'Removes this limit.' } },
  })
}

const NO_KEYS = { name: 'no-keys', words: 'Removes the public keys and their address.' }

export const clientMembers = {
  id: text('client_id', 'Client id', { isFixed: true, given: 'separately', column: 'CLIENT_ID', print: 'client_id' }),
  name: text('name', 'Name', {
    required: true,
    isTitle: true,
    hint: 'Users read it before they sign.',
    column: 'NAME',
    option: { value: 'NAME', words: 'The name that users see when they sign in.' },
  }),
  type: text('type', 'Type', {
    values: ['confidential', 'public', 'native'],
    isFixed: true,
    choices: {
      confidential: 'confidential: a server that keeps a secret',
      public: 'public: a page in a browser',
      native: 'native: an app on a device',
    },
    usual: 'confidential',
    column: 'TYPE',
  }),
  disabledAt: flag('disabled', 'Disabled', {
    given: 'separately',
    read: (disabledAt) => disabledAt !== null,
    // The state of the client shows it.
    shown: () => null,
  }),
  redirectUris: texts('redirect_uris', 'Redirect URIs', {
    hint: 'One on each line.',
    print: 'redirect_uri',
    shown: lines,
    option: {
      value: 'URI',
      words:
        'A redirect URI for codes, matched byte for byte. https; http on loopback only; private-use schemes for --native only.',
    },
  }),
  scopes: texts('scopes', 'Scopes', {
    part: ACCESS,
    hint: 'One on each line. “enhancement” unless given.',
    option: { value: 'SCOPE', words: 'A scope that the client may request; enhancement unless given.' },
  }),
  defaultScopes: texts('default_scopes', 'Default scopes', {
    part: ACCESS,
    hint: 'Granted if a request names no scope. One on each line.',
    given: 'rarely',
    option: { value: 'SCOPE', words: 'Granted if a request names no scope; enhancement, or all scopes, unless given.' },
  }),
  resources: texts('resources', 'Resources', {
    part: ACCESS,
    preset: [],
    hint: 'One URI on each line, besides the default resource.',
    print: 'resource',
    shown: lines,
    option: {
      value: 'URI',
      words:
        'A resource for which the client may request tokens, in addition to GRANTOR_DEFAULT_RESOURCE. The resource need not be registered (grantor resources create).',
    },
  }),
  resourceServer: text('resource_server', 'Resource server', {
    part: ACCESS,
    nullable: true,
    hint: 'The URI of the resource whose tokens this client may introspect.',
    given: 'rarely',
    print: 'resource server of',
    option: {
      value: 'URI',
      words: 'The client is the server of this resource and may introspect every token with this audience.',
    },
  }),
  exchangeResources: texts('exchange_resources', 'Exchange resources', {
    part: ACCESS,
    preset: [],
    hint: 'One URI on each line.',
    given: 'rarely',
    print: 'exchanges tokens for',
    shown: lines,
    option: {
      value: 'URI',
      words: 'A resource for which this resource server may exchange the tokens that it receives (RFC 8693); none unless given.',
      off: { words: 'Removes the resources for which the client may exchange tokens.' },
    },
  }),
  consent: text('consent', 'Consent', {
    part: ACCESS,
    values: ['session', 'signed'],
    choices: { session: 'session: a valid session counts as consent', signed: 'signed: the wallet signs each consent' },
    usual: 'session, or signed for a native client',
    given: 'rarely',
    column: 'CONSENT',
    option: {
      value: 'RULE',
      words:
        'session: a valid session is enough (the default). signed: the wallet must have signed a consent to this client, these scopes and resources. Native clients always need signed.',
    },
  }),
  requirePkce: flag('require_pkce', 'PKCE', {
    part: SECURITY,
    hint: 'Refuses authorization requests without it.',
    given: 'rarely',
    print: 'PKCE',
    shown: (value, { type }) => (value === true || type !== 'confidential' ? 'required' : 'optional'),
    option: { words: 'Refuses authorization requests without PKCE. Public and native clients always need it.' },
  }),
  authMethod: text('token_endpoint_auth_method', 'Authentication', {
    part: SECURITY,
    values: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    usual: 'client_secret_basic, private_key_jwt for FAPI 2.0, or none for a client without a secret',
    given: 'rarely',
    print: 'authenticates by',
    option: {
      value: 'METHOD',
      words:
        'The only way in which the client can authenticate: client_secret_basic (the default), client_secret_post, private_key_jwt (RFC 7523: needs --jwks or --jwks-uri), or none for public clients.',
    },
  }),
  grantTypes: texts('grant_types', 'Grant types', {
    part: ACCESS,
    values: GRANT_TYPES,
    usual: 'authorization_code and refresh_token with a redirect URI, and token-exchange with an exchange resource',
    given: 'rarely',
    option: {
      value: 'TYPE',
      words: `A grant type that the client may use; unless given, authorization_code and refresh_token with a redirect URI, and token-exchange with an exchange resource. ${GRANT_TYPES.map((each) => `${each}: ${grantTypes[each].words}`).join('; ')}.`,
    },
  }),
  profile: text('profile', 'Profile', {
    part: SECURITY,
    values: ['default', 'fapi2'],
    preset: CLIENT_DEFAULTS.profile,
    choices: { default: 'OAuth 2.0 without a profile', fapi2: 'FAPI 2.0 Security Profile' },
    given: 'rarely',
    option: {
      value: 'PROFILE',
      words:
        'fapi2: the FAPI 2.0 Security Profile. The client authenticates by private_key_jwt, pushes its requests, and uses PKCE and DPoP. The options for these can be omitted.',
    },
  }),
  jwks: {
    name: 'jwks',
    shape: { kind: 'key_set' },
    nullable: true,
    label: 'Public keys',
    part: SECURITY,
    hint: 'A JWK Set as JSON.',
    given: 'rarely',
    shown: (value) => {
      const keys = (value as Client['jwks'])?.keys.map(({ kid }) => (typeof kid === 'string' ? kid : 'one without kid'))
      return keys ? { exact: keys.join(', ') } : null
    },
    option: {
      value: 'FILE',
      words:
        'The public keys of the client as a JWK Set: a file, or the JSON itself. EC P-256 (ES256), RSA (PS256) or Ed25519 (EdDSA).',
      off: NO_KEYS,
    },
  },
  jwksUri: text('jwks_uri', 'URI of the public keys', {
    part: SECURITY,
    nullable: true,
    given: 'rarely',
    print: 'public keys at',
    option: {
      value: 'URI',
      words: 'The https address of the public keys, so that the client can change its keys itself.',
      off: NO_KEYS,
    },
  }),
  assertionAudience: text('client_assertion_audience', 'Audience of assertions', {
    part: SECURITY,
    values: ['issuer', 'endpoint'],
    preset: 'issuer',
    choices: {
      issuer: 'issuer: the issuer only',
      endpoint: 'endpoint: the token endpoint or the endpoint for pushed requests, too',
    },
    given: 'rarely',
    print: 'audience of assertions',
    shown: (value, { token_endpoint_auth_method: method }) => (method === 'private_key_jwt' ? (value as string) : null),
    option: {
      value: 'AUDIENCE',
      words:
        'What the client names as the audience of its assertions (private_key_jwt): issuer (the default), or endpoint, for libraries that name the token endpoint. With endpoint, another server that the client uses can obtain an assertion for this one.',
    },
  }),
  requirePushedRequests: flag('require_pushed_authorization_requests', 'Pushed authorization requests are required', {
    part: SECURITY,
    given: 'rarely',
    print: 'requests',
    shown: ifSet('pushed only'),
    option: { words: 'Refuses authorization requests that were not pushed (RFC 9126).' },
  }),
  requestObjectSigned: flag('require_signed_request_object', 'Signed request objects are required', {
    part: SECURITY,
    given: 'rarely',
    print: 'requests',
    shown: ifSet('signed only'),
    option: { words: 'Refuses authorization requests that are not signed request objects (RFC 9101).' },
  }),
  dpopBound: flag('dpop_bound_access_tokens', 'All tokens are bound to a DPoP key', {
    part: SECURITY,
    given: 'rarely',
    print: 'access tokens',
    shown: ifSet('bound by DPoP only'),
    option: { words: 'Issues only tokens that are bound to a key (DPoP, RFC 9449).' },
  }),
  idTokenAlgorithm: text('id_token_signed_response_alg', 'Algorithm of ID tokens', {
    part: TOKENS,
    values: SIGNING_ALGORITHMS,
    preset: CLIENT_DEFAULTS.idTokenAlgorithm,
    given: 'rarely',
    print: 'ID tokens',
    option: { value: 'ALG', words: 'The algorithm that signs the ID tokens of the client; ES256 unless given.' },
  }),
  introspectionSigned: text('introspection_signed_response_alg', 'Algorithm of signed introspection', {
    part: TOKENS,
    values: SIGNING_ALGORITHMS,
    nullable: true,
    usual: 'ES256',
    given: 'rarely',
    print: 'signed introspection',
    option: {
      value: 'ALG',
      words:
        "The algorithm that signs introspection responses if the client requests signed responses (RFC 9701); the service's default unless given.",
    },
  }),
  authorizationAlgorithm: text('authorization_signed_response_alg', 'Algorithm of signed authorization responses', {
    part: TOKENS,
    values: SIGNING_ALGORITHMS,
    preset: CLIENT_DEFAULTS.authorizationAlgorithm,
    given: 'rarely',
    print: 'signed responses',
    option: {
      value: 'ALG',
      words:
        'The algorithm that signs authorization responses in the response modes jwt, query.jwt and form_post.jwt (JARM); ES256 unless given.',
    },
  }),
  responseModes: texts('response_modes', 'Response modes', {
    part: ACCESS,
    values: RESPONSE_MODES,
    nullable: true,
    usual: 'all',
    given: 'rarely',
    option: {
      value: 'MODE',
      words:
        'A response mode that the client may use; all unless given. Requests in another mode are refused, and the error is sent in the first given mode. query.jwt alone requires signed responses (FAPI 2.0 Message Signing).',
      off: { words: 'Allows every response mode again.' },
    },
  }),
  postLogoutRedirectUris: texts('post_logout_redirect_uris', 'Redirect URIs after logout', {
    preset: [],
    hint: 'One on each line.',
    given: 'rarely',
    print: 'post-logout redirect_uri',
    shown: lines,
    option: { value: 'URI', words: 'A URI to which a browser may be sent after signing out, matched byte for byte.' },
  }),
  backchannelLogoutUri: text('backchannel_logout_uri', 'Back-channel logout URI', {
    nullable: true,
    given: 'rarely',
    print: 'notified of logouts at',
    option: {
      value: 'URI',
      words: 'An https address that is notified when a session of a user ends.',
      off: { words: 'Stops notifying the client of ended sessions.' },
    },
  }),
  backchannelLogoutSessionRequired: flag('backchannel_logout_session_required', 'Logout notices name the session', {
    given: 'rarely',
    print: 'logout notices',
    shown: ifSet('name the session'),
    option: { words: 'Names the ended session in back-channel logouts.' },
  }),
  codeLifetime: lifetime('code_lifetime', 'Lifetime of codes', {
    setting: 'GRANTOR_CODE_LIFETIME',
    words: 'Seconds until a code of this client expires, at most GRANTOR_CODE_LIFETIME',
    minimum: 1,
    maximum: 600,
  }),
  accessTokenLifetime: lifetime('access_token_lifetime', 'Lifetime of access tokens', {
    setting: 'GRANTOR_ACCESS_TOKEN_LIFETIME',
    words: 'Seconds until an access token of this client expires, at most GRANTOR_ACCESS_TOKEN_LIFETIME_MAX',
    minimum: 10,
    maximum: 86_400,
  }),
  refreshIdleLifetime: lifetime('refresh_idle_lifetime', 'Lifetime of unused refresh tokens', {
    setting: 'GRANTOR_REFRESH_IDLE_LIFETIME',
    words:
      'Seconds after which an unused refresh token of this client and its grant end, at most GRANTOR_REFRESH_LIFETIME_MAX and the lifetime of the grant',
    minimum: 60,
    maximum: YEAR,
  }),
  grantLifetime: lifetime('grant_lifetime', 'Lifetime of grants', {
    setting: 'GRANTOR_REFRESH_LIFETIME',
    words:
      'Seconds after which a grant of this client ends, even if it is refreshed, at most GRANTOR_REFRESH_LIFETIME_MAX. The text that the wallet signs names this end. Present grants keep theirs',
    minimum: 60,
    maximum: YEAR,
  }),
  tokenLimit: limit(
    'token_limit',
    'Limit of token requests',
    'The most token requests of this client each minute, after it has authenticated. Further requests receive 429. Of a public client, the most for each client address',
  ),
  introspectionLimit: limit(
    'introspection_limit',
    'Limit of introspections',
    'The most introspection requests of this client each minute. Further requests receive 429',
  ),
  revocationLimit: limit(
    'revocation_limit',
    'Limit of revocations',
    'The most revocation requests of this client each minute, counted in the same way. Further requests receive 429',
  ),
  logo: {
    name: 'logo',
    shape: { kind: 'picture' },
    nullable: true,
    isFixed: true,
    given: 'separately',
    label: 'Logo',
    print: 'logo, SHA-256',
    words: 'The SHA-256 of the logo. `setClientLogo` changes the logo.',
    read: (logo) => (logo as Client['logo'])?.hash ?? null,
  },
} as const satisfies RecordMembers<Exclude<keyof Client, 'secrets' | 'createdAt'>>
