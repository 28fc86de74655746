/** Registering a client (RFC 6749 §2; the words of RFC 7591 §2), and giving it a new secret. */
import { randomUUID } from 'node:crypto'
import { hashSecret, newSecret } from '../keys/secret.ts'
import { redirectUriFault } from '../oauth/redirect-uri.ts'
import { isSignableResourceUri } from '../oauth/resource-uri.ts'
import { isScopeName, isSubset } from '../oauth/scope.ts'
import { isSignableUri } from '../wallet/message-grammar.ts'
import type { Client, ClientAuthMethod, ClientType, ConsentRule, GrantType } from './model.ts'

/** What an operator says of a client. What is left out gets the usual value. */
export type ClientRegistration = {
  name: string
  type: ClientType
  redirectUris: string[]
  /** usually `enhancement` */
  scopes?: string[] | undefined
  /** usually `enhancement` where it is among the scopes, else all of them */
  defaultScopes?: string[] | undefined
  resources?: string[] | undefined
  resourceServer?: string | null | undefined
  consent?: ConsentRule | undefined
  requirePkce?: boolean | undefined
  authMethod?: ClientAuthMethod | undefined
  grantTypes?: GrantType[] | undefined
}

export type Registered = {
  kind: 'registered'
  client: Client
  /** shown once, never kept; null for a client without one */
  secret: string | null
}

/** One clear line for each thing that cannot be registered. */
export type RegistrationFaults = { kind: 'faults'; faults: string[] }

const USUAL_SCOPE = 'enhancement'
/** Two secrets may be valid during a rotation. */
const SECRETS_AT_MOST = 2

export function registerClient(registration: ClientRegistration, at: number): Registered | RegistrationFaults {
  const secret = registration.type === 'confidential' ? newSecret() : null
  const scopes = unique(registration.scopes ?? [USUAL_SCOPE])
  const resourceServer = registration.resourceServer ?? null
  const client: Client = {
    id: randomUUID(),
    name: registration.name.trim(),
    type: registration.type,
    redirectUris: unique(registration.redirectUris),
    scopes,
    defaultScopes: unique(registration.defaultScopes ?? (scopes.includes(USUAL_SCOPE) ? [USUAL_SCOPE] : scopes)),
    resources: unique(registration.resources ?? []),
    resourceServer,
    // Nobody can prove which native app it is that asks: the person always decides.
    consent: registration.type === 'native' ? 'signed' : (registration.consent ?? 'session'),
    requirePkce: registration.requirePkce ?? false,
    authMethod: registration.authMethod ?? (secret === null ? 'none' : 'client_secret_basic'),
    grantTypes: registration.grantTypes ?? (registration.redirectUris.length > 0 ? ['authorization_code', 'refresh_token'] : []),
    secrets: secret === null ? [] : [{ secretHash: hashSecret(secret), expiresAt: null, createdAt: at }],
    createdAt: at,
    disabledAt: null,
  }
  const faults = clientFaults(client)
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'registered', client, secret }
}

/** A new secret beside the youngest present one, which stays valid until `at + overlap` seconds; older ones end now. */
export function rotateClientSecret(
  client: Client,
  overlap: number,
  at: number,
  secret = newSecret(),
): { client: Client; secret: string } {
  const kept = client.secrets
    .filter((each) => each.expiresAt === null || each.expiresAt > at)
    .slice(0, SECRETS_AT_MOST - 1)
    .map((each) => ({ ...each, expiresAt: Math.min(each.expiresAt ?? Number.POSITIVE_INFINITY, at + overlap) }))
    .filter((each) => each.expiresAt > at)
  const secrets = [{ secretHash: hashSecret(secret), expiresAt: null, createdAt: at }, ...kept]
  return { client: { ...client, secrets }, secret }
}

/** Everything about a client that cannot be registered, for a new client and for a changed one. */
export function clientFaults(client: Client): string[] {
  return [
    ...nameFaults(client),
    ...redirectUriFaults(client),
    ...scopeFaults(client),
    ...resourceFaults(client),
    ...authenticationFaults(client),
  ]
}

function nameFaults({ name }: Client): string[] {
  if (name === '') return ['A client needs a name: people see it when they sign in.']
  // Control characters and bidirectional overrides would let a name rewrite the page around it.
  if ([...name].length > 80 || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    return ['A name has at most 80 characters, none of them invisible.']
  return []
}

const REDIRECT_URI_WORDS = {
  not_rfc3986: 'is not a valid URI (RFC 3986).',
  has_fragment: 'has a fragment (#…), which a redirect URI may not (RFC 6749 section 3.1.2).',
  has_answer_parameter: 'has a parameter in its query that answers carry: code, state, iss, error or error_description.',
  has_wildcard: 'has a wildcard in its host; redirect URIs match byte for byte, so register each one.',
  has_userinfo: 'has a user name in it, which could hide its host.',
  http_outside_loopback: 'is plain http outside loopback; use https.',
  scheme_not_allowed:
    'is neither https nor, for a --native client, a private-use scheme with a dot such as com.example.app:/callback.',
  too_long: 'is longer than 2,000 characters.',
}

function redirectUriFaults(client: Client): string[] {
  const faults = client.redirectUris.flatMap((uri) => {
    const fault = redirectUriFault(uri, client.type === 'native')
    if (fault) return [`Redirect URI ${uri} ${REDIRECT_URI_WORDS[fault]}`]
    return isSignableUri(uri) ? [] : [`Redirect URI ${uri} cannot stand in a text to sign; give it a path, and no user name.`]
  })
  const redirects = client.grantTypes.includes('authorization_code')
  if (client.redirectUris.length === 0 && (redirects || client.resourceServer === null)) {
    faults.push('A client needs at least one redirect URI, unless it is a resource server only.')
  }
  return faults
}

function scopeFaults(client: Client): string[] {
  const faults = client.scopes
    .filter((scope) => !isScopeName(scope))
    .map((scope) => `Scope ${JSON.stringify(scope)} is not 1 to 64 of A-Z a-z 0-9 . _ -`)
  if (client.scopes.length === 0) faults.push('A client needs at least one scope.')
  else if (client.defaultScopes.length === 0 || !isSubset(client.defaultScopes, client.scopes)) {
    faults.push('The default scopes must be some of the scopes.')
  }
  return faults
}

function resourceFaults(client: Client): string[] {
  return [...client.resources, ...(client.resourceServer === null ? [] : [client.resourceServer])]
    .filter((resource) => !isSignableResourceUri(resource))
    .map(
      (resource) =>
        `Resource ${JSON.stringify(resource)} is not an absolute URI without fragment and percent signs (RFC 8707 section 2).`,
    )
}

function authenticationFaults(client: Client): string[] {
  const faults: string[] = []
  if (client.type === 'confidential' && client.authMethod === 'none')
    faults.push('A confidential client authenticates; for one without a secret say --public.')
  if (client.type !== 'confidential' && client.authMethod !== 'none')
    faults.push('A public client has no secret: its only method is none.')
  if (client.type !== 'confidential' && client.resourceServer !== null)
    faults.push('A resource server must be able to keep a secret.')
  if (client.type === 'native' && client.consent !== 'signed') faults.push('A native client always needs a signed consent.')
  if (client.grantTypes.includes('refresh_token') && !client.grantTypes.includes('authorization_code')) {
    faults.push('Refresh tokens come from authorization codes: allow authorization_code too.')
  }
  return faults
}

function unique(texts: string[]): string[] {
  return [...new Set(texts)]
}
