/** The options that describe a client, shared by `clients create` and `clients update`. Named after RFC 7591 §2. */
import type { Client, ClientAuthMethod, ClientProfile } from '../../domain/model/records.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../../keys/signing-key.ts'
import { GRANT_TYPES, type GrantType, grantTypes } from '../../oauth/grant-types.ts'
import { RESPONSE_MODES, type ResponseMode } from '../../oauth/response-mode.ts'
import { type OptionSpec, UsageError } from '../terminal/command.ts'
import { readJwks } from './read-jwks.ts'

export const clientOptions = {
  'redirect-uri': {
    value: 'URI',
    repeatable: true,
    words:
      'A redirect URI for codes, matched byte for byte. https; http on loopback only; private-use schemes for --native only.',
  },
  scope: { value: 'SCOPE', repeatable: true, words: 'A scope that the client may request; enhancement unless given.' },
  'default-scope': {
    value: 'SCOPE',
    repeatable: true,
    words: 'Granted if a request names no scope; enhancement, or all scopes, unless given.',
  },
  consent: {
    value: 'RULE',
    choices: ['session', 'signed'],
    words:
      'session: a valid session is enough (the default). signed: the wallet must have signed a consent to this client, these scopes and resources. Native clients always need signed.',
  },
  resource: {
    value: 'URI',
    repeatable: true,
    words:
      'A resource for which the client may request tokens, in addition to GRANTOR_DEFAULT_RESOURCE. The resource need not be registered (grantor resources create).',
  },
  'resource-server': {
    value: 'URI',
    words: 'The client is the server of this resource and may introspect every token with this audience.',
  },
  'exchange-resource': {
    value: 'URI',
    repeatable: true,
    words: 'A resource for which this resource server may exchange the tokens that it receives (RFC 8693); none unless given.',
  },
  'token-endpoint-auth-method': {
    value: 'METHOD',
    choices: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    words:
      'The only way in which the client can authenticate: client_secret_basic (the default), client_secret_post, private_key_jwt (RFC 7523: needs --jwks or --jwks-uri), or none for public clients.',
  },
  'grant-type': {
    value: 'TYPE',
    repeatable: true,
    choices: GRANT_TYPES,
    words: `A grant type that the client may use; unless given, authorization_code and refresh_token with a redirect URI, and token-exchange with an exchange resource. ${GRANT_TYPES.map((each) => `${each}: ${grantTypes[each].words}`).join('; ')}.`,
  },
  profile: {
    value: 'PROFILE',
    choices: ['default', 'fapi2'],
    words:
      'fapi2: the FAPI 2.0 Security Profile. The client authenticates by private_key_jwt, pushes its requests, and uses PKCE and DPoP. The options for these can be omitted.',
  },
  jwks: {
    value: 'FILE',
    words:
      'The public keys of the client as a JWK Set: a file, or the JSON itself. EC P-256 (ES256), RSA (PS256) or Ed25519 (EdDSA).',
  },
  'jwks-uri': { value: 'URI', words: 'The https address of the public keys, so that the client can change its keys itself.' },
  'id-token-signed-response-alg': {
    value: 'ALG',
    choices: SIGNING_ALGORITHMS,
    words: 'The algorithm that signs the ID tokens of the client; ES256 unless given.',
  },
  'introspection-signed-response-alg': {
    value: 'ALG',
    choices: SIGNING_ALGORITHMS,
    words:
      "The algorithm that signs introspection responses if the client requests signed responses (RFC 9701); the service's default unless given.",
  },
  'authorization-signed-response-alg': {
    value: 'ALG',
    choices: SIGNING_ALGORITHMS,
    words:
      'The algorithm that signs authorization responses in the response modes jwt, query.jwt and form_post.jwt (JARM); ES256 unless given.',
  },
  'response-mode': {
    value: 'MODE',
    repeatable: true,
    choices: RESPONSE_MODES,
    words:
      'A response mode that the client may use; all unless given. Requests in another mode are refused, and the error is sent in the first given mode. query.jwt alone requires signed responses (FAPI 2.0 Message Signing).',
  },
  'post-logout-redirect-uri': {
    value: 'URI',
    repeatable: true,
    words: 'A URI to which a browser may be sent after signing out, matched byte for byte.',
  },
  'backchannel-logout-uri': { value: 'URI', words: 'An https address that is notified when a session of a user ends.' },
} as const

/** Each can be removed with `clients update --no-…`. */
export const clientFlags = {
  'require-pkce': { words: 'Refuses authorization requests without PKCE. Public and native clients always need it.' },
  'require-pushed-authorization-requests': { words: 'Refuses authorization requests that were not pushed (RFC 9126).' },
  'require-signed-request-object': { words: 'Refuses authorization requests that are not signed request objects (RFC 9101).' },
  'dpop-bound-access-tokens': { words: 'Issues only tokens that are bound to a key (DPoP, RFC 9449).' },
  'backchannel-logout-session-required': { words: 'Names the ended session in back-channel logouts.' },
} as const

type Flag = keyof typeof clientFlags

/** `--no-…` for each flag. */
export const clientFlagsOff = Object.fromEntries(
  Object.keys(clientFlags).map((flag) => [`no-${flag}`, { words: `Removes --${flag}.` }]),
) as { [Name in Flag as `no-${Name}`]: OptionSpec & { words: string; value?: never } }

const FLAG_OF = {
  'require-pkce': 'requirePkce',
  'require-pushed-authorization-requests': 'requirePushedRequests',
  'require-signed-request-object': 'requestObjectSigned',
  'dpop-bound-access-tokens': 'dpopBound',
  'backchannel-logout-session-required': 'backchannelLogoutSessionRequired',
} as const satisfies Record<Flag, keyof Client>

/** The flags that were set or removed. */
export function givenFlags(options: Readonly<Record<string, unknown>>): Partial<Pick<Client, (typeof FLAG_OF)[Flag]>> {
  const changed = Object.entries(FLAG_OF).flatMap(([flag, member]) => {
    const [on, off] = [options[flag] === true, options[`no-${flag}`] === true]
    if (on && off) throw new UsageError(`--${flag} and --no-${flag} are both given: keep one`)
    return on || off ? [[member, on]] : []
  })
  return Object.fromEntries(changed) as ReturnType<typeof givenFlags>
}

type ClientOptionValues = {
  'redirect-uri': string[]
  scope: string[]
  'default-scope': string[]
  consent: string | undefined
  resource: string[]
  'resource-server': string | undefined
  'exchange-resource': string[]
  'token-endpoint-auth-method': string | undefined
  'grant-type': string[]
  profile: string | undefined
  jwks: string | undefined
  'jwks-uri': string | undefined
  'id-token-signed-response-alg': string | undefined
  'introspection-signed-response-alg': string | undefined
  'authorization-signed-response-alg': string | undefined
  'response-mode': string[]
  'post-logout-redirect-uri': string[]
  'backchannel-logout-uri': string | undefined
}

/**
 * The given properties of a client; `undefined` for a property that was not given. The choices were checked when they
 * were read.
 */
export function givenOfClient(options: ClientOptionValues) {
  return {
    redirectUris: unlessEmpty(options['redirect-uri']),
    scopes: unlessEmpty(options.scope),
    defaultScopes: unlessEmpty(options['default-scope']),
    consent: options.consent as 'session' | 'signed' | undefined,
    resources: unlessEmpty(options.resource),
    resourceServer: options['resource-server'],
    exchangeResources: unlessEmpty(options['exchange-resource']),
    authMethod: options['token-endpoint-auth-method'] as ClientAuthMethod | undefined,
    grantTypes: unlessEmpty(options['grant-type']) as GrantType[] | undefined,
    profile: options.profile as ClientProfile | undefined,
    jwks: options.jwks === undefined ? undefined : readJwks(options.jwks),
    jwksUri: options['jwks-uri'],
    idTokenAlgorithm: options['id-token-signed-response-alg'] as SigningAlgorithm | undefined,
    introspectionSigned: options['introspection-signed-response-alg'] as SigningAlgorithm | undefined,
    authorizationAlgorithm: options['authorization-signed-response-alg'] as SigningAlgorithm | undefined,
    responseModes: unlessEmpty(options['response-mode']) as ResponseMode[] | undefined,
    postLogoutRedirectUris: unlessEmpty(options['post-logout-redirect-uri']),
    backchannelLogoutUri: options['backchannel-logout-uri'],
  }
}

function unlessEmpty(list: string[]): string[] | undefined {
  return list.length > 0 ? list : undefined
}
