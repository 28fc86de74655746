/** The options that say what a client is, shared by `clients create` and `clients update`. Named after RFC 7591 §2. */
import type { ClientAuthMethod, GrantType } from '../grants/model.ts'

export const clientOptions = {
  'redirect-uri': {
    value: 'URI',
    repeatable: true,
    words: 'Where codes are sent, matched byte for byte. https; http on loopback only; private-use schemes for --native only.',
  },
  scope: { value: 'SCOPE', repeatable: true, words: 'A scope the client may ask for; enhancement unless given.' },
  'default-scope': {
    value: 'SCOPE',
    repeatable: true,
    words: 'Granted when a request names none; enhancement, or all scopes, unless given.',
  },
  consent: {
    value: 'RULE',
    choices: ['session', 'signed'],
    words:
      'session: a valid session is enough (the default). signed: the wallet must have signed a consent to this client, these scopes and resources; always so for native clients.',
  },
  'require-pkce': { words: 'Refuses authorization requests without PKCE. Public and native clients always need it.' },
  resource: {
    value: 'URI',
    repeatable: true,
    words: 'A resource the client may ask tokens for, beside GRANTOR_DEFAULT_RESOURCE.',
  },
  'resource-server': {
    value: 'URI',
    words: 'The client is the server of this resource and may introspect every token with this audience.',
  },
  'token-endpoint-auth-method': {
    value: 'METHOD',
    choices: ['client_secret_basic', 'client_secret_post', 'none'],
    words: 'How it authenticates: client_secret_basic (the default), client_secret_post, or none for public clients.',
  },
  'grant-type': {
    value: 'TYPE',
    repeatable: true,
    choices: ['authorization_code', 'refresh_token'],
    words: 'A grant type it may use; authorization_code and refresh_token unless given.',
  },
} as const

type Given = {
  'redirect-uri': string[]
  scope: string[]
  'default-scope': string[]
  consent: string | undefined
  resource: string[]
  'resource-server': string | undefined
  'token-endpoint-auth-method': string | undefined
  'grant-type': string[]
}

/** What was said of the client; `undefined` where nothing was. The choices were checked when they were read. */
export function givenOfClient(options: Given) {
  return {
    redirectUris: said(options['redirect-uri']),
    scopes: said(options.scope),
    defaultScopes: said(options['default-scope']),
    consent: options.consent as 'session' | 'signed' | undefined,
    resources: said(options.resource),
    resourceServer: options['resource-server'],
    authMethod: options['token-endpoint-auth-method'] as ClientAuthMethod | undefined,
    grantTypes: said(options['grant-type']) as GrantType[] | undefined,
  }
}

function said(list: string[]): string[] | undefined {
  return list.length > 0 ? list : undefined
}
