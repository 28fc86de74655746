/** Registers a client (RFC 6749 §2, with the metadata of RFC 7591 §2), and rotates client secrets. */
import { randomUUID } from 'node:crypto'
import { hashSecret, newSecret } from '../../protocol/keys/secret.ts'
import { type GrantType, TOKEN_EXCHANGE } from '../../protocol/oauth/grant-types.ts'
import { CLIENT_DEFAULTS } from '../model/client-record.ts'
import type { Client, ClientAuthMethod } from '../model/records.ts'
import { type ClientFault, clientFaults } from './client-faults.ts'

type Needed = 'name' | 'type' | 'redirectUris'
type Optional = Omit<Client, Needed | 'id' | 'secrets' | 'createdAt' | 'disabledAt'>

/** The metadata that an operator provides. Missing members get a default value. */
export type ClientRegistration = Pick<Client, Needed> & { [Member in keyof Optional]?: Optional[Member] | undefined }

export type Registered = {
  kind: 'registered'
  client: Client
  /** shown once and never stored; null for a client without a secret */
  secret: string | null
}

/** The faults of the metadata. */
export type RegistrationFaults = { kind: 'faults'; faults: ClientFault[] }

const USUAL_SCOPE = 'enhancement'
/** During a rotation two secrets are valid. */
const SECRETS_AT_MOST = 2

/**
 * Only a confidential client gets a secret (RFC 6749 §10.1). A native client can be impersonated (§2.3, §10.2), so the user must
 * always consent. The service generates the client id: a chosen id could look like a wallet address (RFC 9700 §2.6).
 */
export function registerClient(registration: ClientRegistration, at: number): Registered | RegistrationFaults {
  const unauthenticated = newClient(registration, { id: randomUUID(), createdAt: at })
  const { client, secret } = hasSecret(unauthenticated.authMethod)
    ? rotateClientSecret(unauthenticated, 0, at)
    : { client: unauthenticated, secret: null }
  const faults = clientFaults(client)
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'registered', client, secret }
}

/** The client of a registration, with the defaults of the missing members, not checked, and without a secret. */
export function newClient(registration: ClientRegistration, { id, createdAt }: Pick<Client, 'id' | 'createdAt'>): Client {
  const given = Object.fromEntries(Object.entries(registration).filter(([, value]) => value !== undefined)) as Pick<
    Client,
    Needed
  > &
    Partial<Optional>
  const { type, scopes: givenScopes = [USUAL_SCOPE] } = given
  const scopes = unique(givenScopes)
  return applyProfile({
    ...CLIENT_DEFAULTS,
    resourceServer: null,
    requirePkce: false,
    authMethod: usualAuthMethod(given),
    grantTypes: usualGrantTypes(given),
    ...given,
    id,
    name: given.name.trim(),
    redirectUris: unique(given.redirectUris),
    scopes,
    // RFC 6749 §3.3
    defaultScopes: unique(given.defaultScopes ?? (scopes.includes(USUAL_SCOPE) ? [USUAL_SCOPE] : scopes)),
    resources: unique(given.resources ?? []),
    exchangeResources: unique(given.exchangeResources ?? []),
    // A native client cannot authenticate, so the user must always consent.
    consent: type === 'native' ? 'signed' : (given.consent ?? 'session'),
    postLogoutRedirectUris: unique(given.postLogoutRedirectUris ?? []),
    secrets: [],
    createdAt,
    disabledAt: null,
  })
}

/** The client with changed metadata. If the new authentication method has no secret, the secrets are removed. */
export function changeClient(client: Client, changes: Partial<Client>): Client {
  const changed = applyProfile({ ...client, ...changes })
  return hasSecret(changed.authMethod) ? changed : { ...changed, secrets: [] }
}

/** Whether the method uses a client secret. */
export function hasSecret(method: ClientAuthMethod): boolean {
  return method === 'client_secret_basic' || method === 'client_secret_post'
}

function usualAuthMethod({ type, profile }: ClientRegistration): ClientAuthMethod {
  if (type !== 'confidential') return 'none'
  return profile === 'fapi2' ? 'private_key_jwt' : 'client_secret_basic'
}

function usualGrantTypes({ redirectUris, exchangeResources = [] }: ClientRegistration): GrantType[] {
  const ofApps: GrantType[] = redirectUris.length > 0 ? ['authorization_code', 'refresh_token'] : []
  return exchangeResources.length > 0 ? [...ofApps, TOKEN_EXCHANGE] : ofApps
}

/** FAPI 2.0 Security Profile §5.3.2: sets what the profile requires of every client. */
function applyProfile(client: Client): Client {
  if (client.profile !== 'fapi2') return client
  return { ...client, requirePkce: true, requirePushedRequests: true, dpopBound: true, assertionAudience: 'issuer' }
}

/** Adds a new secret. The newest existing secret stays valid until `at + overlap`. Older secrets end now. */
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
