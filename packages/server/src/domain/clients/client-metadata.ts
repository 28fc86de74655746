/**
 * Reads a client's metadata document (Client ID Metadata Document §4, RFC 7591 §2). Another party wrote the document,
 * and the party need not be honest. A document with any fault is refused as a whole.
 */
import { jwkSetFaults } from '@grantor/protocol/public-jwk'
import { DEVICE_CODE_GRANT, type GrantType } from '../../protocol/oauth/grant-types.ts'
import { parseJson } from '../../protocol/oauth/parse-json.ts'
import type { ReasonOf } from '../../protocol/oauth/reasons.ts'
import { redirectUriFault, type SchemeRule } from '../../protocol/oauth/redirect-uri.ts'
import { STANDARD_SCOPES } from '../../protocol/oauth/standard-scopes.ts'
import { isSignableUri } from '../../protocol/wallet/message-grammar.ts'
import { CLIENT_DEFAULTS } from '../model/client-record.ts'
import type { Client } from '../model/records.ts'
import type { OpenResources } from '../model/resources.ts'
import { calledUriFault } from './client-called-uri.ts'
import { type Guarantees, readGuarantees } from './client-guarantees.ts'
import { readClientName } from './client-name.ts'

export type MetadataFault = Extract<ReasonOf<'invalid_client'>, `metadata_${string}`>
export type MemberFault = Extract<MetadataFault, ReasonOf<'invalid_client_metadata'> | ReasonOf<'invalid_redirect_uri'>>

/** The metadata in the document. Scopes and resources are not part of the document: the operator decides about them. */
export type ClientMetadata = Pick<Client, 'name' | 'type' | 'redirectUris' | 'authMethod' | 'grantTypes' | 'jwks' | 'jwksUri'> &
  Guarantees

const REDIRECT_URIS_AT_MOST = 20
/** Members that contain a secret, which a public document cannot have. */
const SECRET_MEMBERS = ['client_secret', 'client_secret_expires_at']

/** How strictly the members are read. */
type MetadataRules = {
  /** the one host that a name may contain; null if the host of the client is not proved */
  ownHost: string | null
  schemes: SchemeRule
  /** what happens to an authentication method that the service does not offer */
  otherMethods: 'refuse' | 'replace_by_none'
}

/** The metadata, or the first fault. `clientId` is the URL from which the document was fetched. */
export function readClientMetadata(clientId: string, text: string): ClientMetadata | MetadataFault {
  const json = parseJson(text)
  if (json.kind === 'member_twice') return 'metadata_member_twice'
  const document = json.kind === 'parsed' ? objectOf(json.value) : null
  if (document === null) return 'metadata_not_json'
  // Client ID Metadata Document §4: "MUST match the URL of the document using simple string comparison"
  if (document.client_id !== clientId) return 'metadata_client_id_differs'
  if (SECRET_MEMBERS.some((member) => member in document)) return 'metadata_has_secret'
  return readMembers(document, { ownHost: new URL(clientId).hostname, schemes: 'private_use', otherMethods: 'refuse' })
}

/** The members of a document or of a registration request (RFC 7591 §2), or the first fault. */
export function readMembers(document: Record<string, unknown>, rules: MetadataRules): ClientMetadata | MemberFault {
  const name = readClientName(document.client_name, rules.ownHost)
  if (name === null) return 'metadata_name'
  const grantTypes = readGrantTypes(document)
  if (grantTypes === null) return 'metadata_grant_types'
  const redirectUris = readRedirectUris(document.redirect_uris, rules.schemes, grantTypes)
  if (redirectUris === null) return 'metadata_redirect_uris'
  const keys = readKeys(document)
  if (keys === null) return 'metadata_keys'
  const authMethod = readAuthMethod(document, keys) ?? (rules.otherMethods === 'replace_by_none' ? 'none' : null)
  if (authMethod === null) return 'metadata_auth_method'
  const type = authMethod === 'none' ? 'native' : 'confidential'
  const guarantees = readGuarantees(document)
  // Only a client that authenticates has keys.
  if (guarantees === null || (guarantees.requestObjectSigned && authMethod === 'none')) return 'metadata_values'
  const usedKeys = authMethod === 'none' ? { jwks: null, jwksUri: null } : keys
  return { name, type, redirectUris, authMethod, grantTypes, ...usedKeys, ...guarantees }
}

type Allowance = Pick<Client, 'scopes' | 'defaultScopes' | 'resources'>
const allowances = new WeakMap<OpenResources, Allowance>()

/** What a client that no operator registered may request: the identity of the user, and the scopes of the resources that are open to its kind. */
export function allowanceWith(open: OpenResources): Allowance {
  const known = allowances.get(open)
  if (known) return known
  const resources = open.resources.map(({ uri }) => uri)
  const allowance = { scopes: [...STANDARD_SCOPES, ...open.scopes], defaultScopes: ['openid'], resources }
  allowances.set(open, allowance)
  return allowance
}

/** A client that consents are signed for, with the scopes and resources that the operator allows. */
export function clientOfMetadata(
  clientId: string,
  metadata: ClientMetadata,
  allowed: Pick<Client, 'scopes' | 'defaultScopes' | 'resources'>,
): Client {
  return {
    ...CLIENT_DEFAULTS,
    exchangeResources: [],
    postLogoutRedirectUris: [],
    id: clientId,
    ...metadata,
    ...allowed,
    resourceServer: null,
    consent: 'signed',
    requirePkce: true,
    secrets: [],
    createdAt: 0,
    disabledAt: null,
  }
}

/** The value if it is a JSON object. */
export function objectOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
}

/** Only the authorization code grant needs a redirect URI. Client ID Metadata Document §4.2: these URIs are the registration. */
function readRedirectUris(uris: unknown, schemes: SchemeRule, grantTypes: GrantType[]): string[] | null {
  if (uris === undefined && !grantTypes.includes('authorization_code')) return []
  if (!isTextList(uris) || uris.length === 0 || uris.length > REDIRECT_URIS_AT_MOST) return null
  return uris.every((uri) => redirectUriFault(uri, schemes) === null && isSignableUri(uri)) ? [...new Set(uris)] : null
}

/** RFC 7591 §2: without the member, only `authorization_code`. Grant types that the service does not give to such clients are left out. */
function readGrantTypes({
  grant_types: named = ['authorization_code'],
  response_types: types = ['code'],
}: Record<string, unknown>): GrantType[] | null {
  if (!isTextList(named) || !isTextList(types)) return null
  const usable = (['authorization_code', DEVICE_CODE_GRANT] satisfies GrantType[]).filter((each) => named.includes(each))
  if (usable.length === 0 || (named.includes('authorization_code') && !types.includes('code'))) return null
  const refreshes: GrantType[] = named.includes('refresh_token') ? ['refresh_token'] : []
  return [...usable, ...refreshes]
}

function readKeys({ jwks, jwks_uri: jwksUri }: Record<string, unknown>): Pick<Client, 'jwks' | 'jwksUri'> | null {
  // RFC 7591 §2: "The 'jwks_uri' and 'jwks' parameters MUST NOT both be present"
  if (jwks !== undefined && jwksUri !== undefined) return null
  if (jwks !== undefined)
    return jwkSetFaults(jwks, 'rs256').length === 0 ? { jwks: jwks as NonNullable<Client['jwks']>, jwksUri: null } : null
  if (jwksUri === undefined) return { jwks: null, jwksUri: null }
  return typeof jwksUri === 'string' && calledUriFault(jwksUri) === null ? { jwks: null, jwksUri } : null
}

/**
 * A declared `none` counts. Otherwise the method that both sides support: `private_key_jwt` if the client has keys for it, else `none`.
 * Client ID Metadata Document §4.1: methods with a shared secret "MUST NOT" be used. §8.2: a client with `private_key_jwt` must
 * authenticate.
 */
function readAuthMethod(document: Record<string, unknown>, keys: Pick<Client, 'jwks' | 'jwksUri'>): Client['authMethod'] | null {
  const { token_endpoint_auth_method: named, token_endpoint_auth_methods_supported: supported = [] } = document
  if (!isTextList(supported) || (named !== undefined && typeof named !== 'string')) return null
  if (named === 'none') return 'none'
  const methods = [...(named === undefined ? [] : [named]), ...supported]
  const hasKeys = keys.jwks !== null || keys.jwksUri !== null
  if (methods.includes('private_key_jwt') && hasKeys) return 'private_key_jwt'
  return methods.length === 0 || methods.includes('none') ? 'none' : null
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= 100 && value.every((each) => typeof each === 'string')
}
