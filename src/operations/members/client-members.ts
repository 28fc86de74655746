/** The members of a client. The names are those of RFC 7591 §2 if it has one. A new property of `Client` is one entry here. */
import { CLIENT_DEFAULTS } from '../../domain/model/client-record.ts'
import type { Client } from '../../domain/model/records.ts'
import { SIGNING_ALGORITHMS } from '../../keys/signing-key.ts'
import { GRANT_TYPES, grantTypes } from '../../oauth/grant-types.ts'
import { RESPONSE_MODES } from '../../oauth/response-mode.ts'
import type { RecordMembers, Shown } from './member.ts'

const text = { kind: 'text' } as const
const texts = { kind: 'texts' } as const
const flag = { kind: 'flag' } as const
const algorithm = { kind: 'text', choices: SIGNING_ALGORITHMS } as const

const lines = (value: unknown): Shown => ((value as string[]).length > 0 ? { lines: value as string[] } : null)
const words = (value: unknown): Shown => ({ words: value as string[] })
/** The text if the flag is set. */
const ifSet =
  (shown: string) =>
  (value: unknown): Shown =>
    value === true ? shown : null
const unlessUsual =
  (usual: string) =>
  (value: unknown): Shown =>
    value === usual ? null : String(value)

const NO_KEYS = { name: 'no-keys', words: 'Removes the public keys and their address.' }

export const clientMembers = {
  id: {
    name: 'client_id',
    shape: text,
    label: 'Client id',
    column: 'CLIENT_ID',
    print: 'client_id',
    isFixed: true,
    isSeparate: true,
  },
  name: {
    name: 'name',
    shape: text,
    required: true,
    isTitle: true,
    label: 'Name',
    hint: 'Users read it before they sign.',
    column: 'NAME',
    print: 'name',
    option: { value: 'NAME', words: 'The name that users see when they sign in.' },
  },
  type: {
    name: 'type',
    shape: { kind: 'text', choices: ['confidential', 'public', 'native'] },
    isFixed: true,
    label: 'Type',
    choices: {
      confidential: 'confidential: a server that keeps a secret',
      public: 'public: a page in a browser',
      native: 'native: an app on a device',
    },
    column: 'TYPE',
    print: 'type',
    option: {
      words: '',
      flags: {
        public: 'A client that cannot keep a secret, such as an app in a browser. Needs PKCE.',
        native: "An app on a user's own device: public, and always with a signed consent (RFC 8252).",
      },
    },
  },
  disabledAt: {
    name: 'disabled',
    shape: flag,
    preset: false,
    label: 'Disabled',
    isSeparate: true,
    read: (disabledAt) => disabledAt !== null,
    // The state of the client shows it.
    shown: () => null,
  },
  redirectUris: {
    name: 'redirect_uris',
    shape: texts,
    label: 'Redirect URIs',
    hint: 'One on each line.',
    print: 'redirect_uri',
    shown: lines,
    option: {
      value: 'URI',
      words:
        'A redirect URI for codes, matched byte for byte. https; http on loopback only; private-use schemes for --native only.',
    },
  },
  scopes: {
    name: 'scopes',
    shape: texts,
    label: 'Scopes',
    hint: 'One on each line. “enhancement” unless given.',
    print: 'scopes',
    shown: words,
    option: { value: 'SCOPE', words: 'A scope that the client may request; enhancement unless given.' },
  },
  defaultScopes: {
    name: 'default_scopes',
    shape: texts,
    label: 'Default scopes',
    hint: 'Granted if a request names no scope. One on each line.',
    isRare: true,
    print: 'default scopes',
    shown: words,
    option: {
      value: 'SCOPE',
      words: 'Granted if a request names no scope; enhancement, or all scopes, unless given.',
    },
  },
  resources: {
    name: 'resources',
    shape: texts,
    preset: [],
    label: 'Resources',
    hint: 'One URI on each line, besides the default resource.',
    print: 'resource',
    shown: lines,
    option: {
      value: 'URI',
      words:
        'A resource for which the client may request tokens, in addition to GRANTOR_DEFAULT_RESOURCE. The resource need not be registered (grantor resources create).',
    },
  },
  resourceServer: {
    name: 'resource_server',
    shape: text,
    nullable: true,
    preset: null,
    label: 'Resource server',
    hint: 'The URI of the resource whose tokens this client may introspect.',
    isRare: true,
    print: 'resource server of',
    option: {
      value: 'URI',
      words: 'The client is the server of this resource and may introspect every token with this audience.',
    },
  },
  exchangeResources: {
    name: 'exchange_resources',
    shape: texts,
    preset: [],
    label: 'Exchange resources',
    hint: 'One URI on each line.',
    isRare: true,
    print: 'exchanges tokens for',
    shown: lines,
    option: {
      value: 'URI',
      words: 'A resource for which this resource server may exchange the tokens that it receives (RFC 8693); none unless given.',
      off: { words: 'Removes the resources for which the client may exchange tokens.' },
    },
  },
  consent: {
    name: 'consent',
    shape: { kind: 'text', choices: ['session', 'signed'] },
    label: 'Consent',
    choices: { session: 'session: a valid session counts as consent', signed: 'signed: the wallet signs each consent' },
    column: 'CONSENT',
    print: 'consent',
    option: {
      value: 'RULE',
      words:
        'session: a valid session is enough (the default). signed: the wallet must have signed a consent to this client, these scopes and resources. Native clients always need signed.',
    },
  },
  requirePkce: {
    name: 'require_pkce',
    shape: flag,
    preset: false,
    label: 'PKCE',
    hint: 'Refuses authorization requests without it.',
    isRare: true,
    print: 'PKCE',
    shown: (value, { type }) => (value === true || type !== 'confidential' ? 'required' : 'optional'),
    option: { words: 'Refuses authorization requests without PKCE. Public and native clients always need it.' },
  },
  authMethod: {
    name: 'token_endpoint_auth_method',
    shape: { kind: 'text', choices: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] },
    label: 'Authentication',
    isRare: true,
    print: 'authenticates by',
    option: {
      value: 'METHOD',
      words:
        'The only way in which the client can authenticate: client_secret_basic (the default), client_secret_post, private_key_jwt (RFC 7523: needs --jwks or --jwks-uri), or none for public clients.',
    },
  },
  grantTypes: {
    name: 'grant_types',
    shape: { kind: 'texts', choices: GRANT_TYPES },
    label: 'Grant types',
    isRare: true,
    print: 'grant types',
    shown: words,
    option: {
      value: 'TYPE',
      words: `A grant type that the client may use; unless given, authorization_code and refresh_token with a redirect URI, and token-exchange with an exchange resource. ${GRANT_TYPES.map((each) => `${each}: ${grantTypes[each].words}`).join('; ')}.`,
    },
  },
  profile: {
    name: 'profile',
    shape: { kind: 'text', choices: ['default', 'fapi2'] },
    preset: CLIENT_DEFAULTS.profile,
    label: 'Profile',
    choices: { default: 'default', fapi2: 'FAPI 2.0 Security Profile' },
    isRare: true,
    print: 'profile',
    shown: unlessUsual(CLIENT_DEFAULTS.profile),
    option: {
      value: 'PROFILE',
      words:
        'fapi2: the FAPI 2.0 Security Profile. The client authenticates by private_key_jwt, pushes its requests, and uses PKCE and DPoP. The options for these can be omitted.',
    },
  },
  jwks: {
    name: 'jwks',
    shape: { kind: 'key_set' },
    nullable: true,
    preset: null,
    label: 'Public keys',
    hint: 'A JWK Set as JSON.',
    isRare: true,
    print: 'public keys',
    shown: (value) => {
      const keys = (value as Client['jwks'])?.keys.map(({ kid }) => (typeof kid === 'string' ? kid : 'one without kid'))
      return keys ? { exact: keys.join(', ') } : null
    },
    option: {
      value: 'FILE',
      words:
        'The public keys of the client as a JWK Set: a file, or the JSON itself. EC P-256 (ES256), RSA (PS256) or Ed25519 (EdDSA).',
      off: NO_KEYS,
      replaces: 'jwks_uri',
    },
  },
  jwksUri: {
    name: 'jwks_uri',
    shape: text,
    nullable: true,
    preset: null,
    label: 'URI of the public keys',
    isRare: true,
    print: 'public keys at',
    option: {
      value: 'URI',
      words: 'The https address of the public keys, so that the client can change its keys itself.',
      off: NO_KEYS,
      replaces: 'jwks',
    },
  },
  requirePushedRequests: {
    name: 'require_pushed_authorization_requests',
    shape: flag,
    preset: false,
    label: 'Pushed authorization requests are required',
    isRare: true,
    print: 'requests',
    shown: ifSet('pushed only'),
    option: { words: 'Refuses authorization requests that were not pushed (RFC 9126).' },
  },
  requestObjectSigned: {
    name: 'require_signed_request_object',
    shape: flag,
    preset: false,
    label: 'Signed request objects are required',
    isRare: true,
    print: 'requests',
    shown: ifSet('signed only'),
    option: { words: 'Refuses authorization requests that are not signed request objects (RFC 9101).' },
  },
  dpopBound: {
    name: 'dpop_bound_access_tokens',
    shape: flag,
    preset: false,
    label: 'All tokens are bound to a DPoP key',
    isRare: true,
    print: 'access tokens',
    shown: ifSet('bound by DPoP only'),
    option: { words: 'Issues only tokens that are bound to a key (DPoP, RFC 9449).' },
  },
  idTokenAlgorithm: {
    name: 'id_token_signed_response_alg',
    shape: algorithm,
    preset: CLIENT_DEFAULTS.idTokenAlgorithm,
    label: 'Algorithm of ID tokens',
    isRare: true,
    print: 'ID tokens',
    shown: unlessUsual(CLIENT_DEFAULTS.idTokenAlgorithm),
    option: { value: 'ALG', words: 'The algorithm that signs the ID tokens of the client; ES256 unless given.' },
  },
  introspectionSigned: {
    name: 'introspection_signed_response_alg',
    shape: algorithm,
    nullable: true,
    preset: null,
    label: 'Algorithm of signed introspection',
    isRare: true,
    print: 'signed introspection',
    option: {
      value: 'ALG',
      words:
        "The algorithm that signs introspection responses if the client requests signed responses (RFC 9701); the service's default unless given.",
    },
  },
  authorizationAlgorithm: {
    name: 'authorization_signed_response_alg',
    shape: algorithm,
    preset: CLIENT_DEFAULTS.authorizationAlgorithm,
    label: 'Algorithm of signed authorization responses',
    isRare: true,
    print: 'signed responses',
    shown: unlessUsual(CLIENT_DEFAULTS.authorizationAlgorithm),
    option: {
      value: 'ALG',
      words:
        'The algorithm that signs authorization responses in the response modes jwt, query.jwt and form_post.jwt (JARM); ES256 unless given.',
    },
  },
  responseModes: {
    name: 'response_modes',
    shape: { kind: 'texts', choices: RESPONSE_MODES },
    nullable: true,
    preset: null,
    label: 'Response modes',
    hint: 'All unless given.',
    isRare: true,
    print: 'response modes',
    option: {
      value: 'MODE',
      words:
        'A response mode that the client may use; all unless given. Requests in another mode are refused, and the error is sent in the first given mode. query.jwt alone requires signed responses (FAPI 2.0 Message Signing).',
      off: { words: 'Allows every response mode again.' },
    },
  },
  postLogoutRedirectUris: {
    name: 'post_logout_redirect_uris',
    shape: texts,
    preset: [],
    label: 'Redirect URIs after logout',
    hint: 'One on each line.',
    isRare: true,
    print: 'post-logout redirect_uri',
    shown: lines,
    option: { value: 'URI', words: 'A URI to which a browser may be sent after signing out, matched byte for byte.' },
  },
  backchannelLogoutUri: {
    name: 'backchannel_logout_uri',
    shape: text,
    nullable: true,
    preset: null,
    label: 'Back-channel logout URI',
    isRare: true,
    print: 'notified of logouts at',
    option: {
      value: 'URI',
      words: 'An https address that is notified when a session of a user ends.',
      off: { words: 'Stops notifying the client of ended sessions.' },
    },
  },
  backchannelLogoutSessionRequired: {
    name: 'backchannel_logout_session_required',
    shape: flag,
    preset: false,
    label: 'Logout notices name the session',
    isRare: true,
    print: 'logout notices',
    shown: ifSet('name the session'),
    option: { words: 'Names the ended session in back-channel logouts.' },
  },
} as const satisfies RecordMembers<Exclude<keyof Client, 'secrets' | 'createdAt'>>
