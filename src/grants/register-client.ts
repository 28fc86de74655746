/** Registering a client (RFC 6749 §2; the words of RFC 7591 §2), and giving it a new secret. */
import { randomUUID } from 'node:crypto'
import type { JwkSet } from '../keys/public-jwk.ts'
import { hashSecret, newSecret } from '../keys/secret.ts'
import type { SigningAlgorithm } from '../keys/signing-key.ts'
import type { ResponseMode } from '../oauth/response-mode.ts'
import { clientFaults } from './client-faults.ts'
import { CLIENT_DEFAULTS } from './client-record.ts'
import type { Client, ClientAuthMethod, ClientProfile, ClientType, ConsentRule, GrantType } from './model.ts'

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
  profile?: ClientProfile | undefined
  jwks?: JwkSet | null | undefined
  jwksUri?: string | null | undefined
  requirePushedRequests?: boolean | undefined
  requestObjectSigned?: boolean | undefined
  dpopBound?: boolean | undefined
  idTokenAlgorithm?: SigningAlgorithm | undefined
  introspectionSigned?: SigningAlgorithm | null | undefined
  authorizationAlgorithm?: SigningAlgorithm | undefined
  responseModes?: ResponseMode[] | null | undefined
  postLogoutRedirectUris?: string[] | undefined
  backchannelLogoutUri?: string | null | undefined
  backchannelLogoutSessionRequired?: boolean | undefined
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

/**
 * Only a confidential client is given a secret (RFC 6749 §10.1). A native one cannot be told from another that poses as it
 * (§2.3, §10.2), so its person is always asked. The id is made here, never chosen: it cannot pass for a wallet (RFC 9700 §2.6).
 */
export function registerClient(registration: ClientRegistration, at: number): Registered | RegistrationFaults {
  const authMethod = registration.authMethod ?? usualAuthMethod(registration)
  const secret = hasSecret(authMethod) ? newSecret() : null
  const scopes = unique(registration.scopes ?? [USUAL_SCOPE])
  const client: Client = ruledByProfile({
    id: randomUUID(),
    name: registration.name.trim(),
    type: registration.type,
    redirectUris: unique(registration.redirectUris),
    scopes,
    defaultScopes: unique(registration.defaultScopes ?? (scopes.includes(USUAL_SCOPE) ? [USUAL_SCOPE] : scopes)),
    resources: unique(registration.resources ?? []),
    resourceServer: registration.resourceServer ?? null,
    // Nobody can prove which native app it is that asks: the person always decides.
    consent: registration.type === 'native' ? 'signed' : (registration.consent ?? 'session'),
    requirePkce: registration.requirePkce ?? false,
    authMethod,
    grantTypes: registration.grantTypes ?? (registration.redirectUris.length > 0 ? ['authorization_code', 'refresh_token'] : []),
    profile: registration.profile ?? CLIENT_DEFAULTS.profile,
    jwks: registration.jwks ?? null,
    jwksUri: registration.jwksUri ?? null,
    requirePushedRequests: registration.requirePushedRequests ?? false,
    requestObjectSigned: registration.requestObjectSigned ?? false,
    dpopBound: registration.dpopBound ?? false,
    idTokenAlgorithm: registration.idTokenAlgorithm ?? CLIENT_DEFAULTS.idTokenAlgorithm,
    introspectionSigned: registration.introspectionSigned ?? null,
    authorizationAlgorithm: registration.authorizationAlgorithm ?? CLIENT_DEFAULTS.authorizationAlgorithm,
    responseModes: registration.responseModes ?? null,
    postLogoutRedirectUris: unique(registration.postLogoutRedirectUris ?? []),
    backchannelLogoutUri: registration.backchannelLogoutUri ?? null,
    backchannelLogoutSessionRequired: registration.backchannelLogoutSessionRequired ?? false,
    secrets: secret === null ? [] : [{ secretHash: hashSecret(secret), expiresAt: null, createdAt: at }],
    createdAt: at,
    disabledAt: null,
  })
  const faults = clientFaults(client)
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'registered', client, secret }
}

/** A client with what was said anew, and what follows from it. Its secrets go with the method that used them. */
export function changeClient(client: Client, said: Partial<Client>): Client {
  const changed = ruledByProfile({ ...client, ...said })
  return hasSecret(changed.authMethod) ? changed : { ...changed, secrets: [] }
}

/** Whether clients that authenticate this way have a secret that we know. */
export function hasSecret(method: ClientAuthMethod): boolean {
  return method === 'client_secret_basic' || method === 'client_secret_post'
}

function usualAuthMethod({ type, profile }: ClientRegistration): ClientAuthMethod {
  if (type !== 'confidential') return 'none'
  return profile === 'fapi2' ? 'private_key_jwt' : 'client_secret_basic'
}

/** FAPI 2.0 Security Profile §5.3.2: what it demands of every client need not be said of each. */
function ruledByProfile(client: Client): Client {
  if (client.profile !== 'fapi2') return client
  return { ...client, requirePkce: true, requirePushedRequests: true, dpopBound: true }
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

function unique(texts: string[]): string[] {
  return [...new Set(texts)]
}
