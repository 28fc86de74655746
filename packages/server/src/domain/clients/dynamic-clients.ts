/**
 * Dynamic client registration (RFC 7591) without a row: the client id is the sealed registration itself. An open endpoint therefore
 * writes nothing, every node accepts the client, and the client ends when the sealing key is retired.
 */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { GrantType } from '../../protocol/oauth/grant-types.ts'
import { invalidClientMetadata, invalidRedirectUri } from '../../protocol/oauth/oauth-error.ts'
import type { ParsedJson } from '../../protocol/oauth/parse-json.ts'
import type { Client } from '../model/records.ts'
import type { OpenResources } from '../model/resources.ts'
import { type Guarantees, statedGuarantees, USUAL_GUARANTEES, unusualGuarantees } from './client-guarantees.ts'
import { allowanceWith, type ClientMetadata, clientOfMetadata, objectOf, readMembers } from './client-metadata.ts'

/** In characters. Grants contain the client id, and PostgreSQL indexes it. */
const CLIENT_ID_AT_MOST = 1_200

// A packed registration is an array: member names would make the client id longer.
type PackedClient = [
  name: string,
  redirectUris: string[],
  grantTypes: GrantType[],
  authMethod: ClientMetadata['authMethod'],
  jwksUri: string | null,
  jwks: ClientMetadata['jwks'],
  registeredAt: number,
  /** absent if all are the usual ones */
  guarantees?: Partial<Guarantees>,
]
const REGISTRATION = sealedFormat<PackedClient>('clientRegistration')

/** RFC 7591 §3.2.1. Members that the service does not use, such as `logo_uri` or `software_statement`, are ignored (§2, §3.1.1). */
export type RegistrationResponse = {
  client_id: string
  client_id_issued_at: number
  client_name?: string
  redirect_uris: string[]
  grant_types: GrantType[]
  response_types: ['code']
  token_endpoint_auth_method: ClientMetadata['authMethod']
  jwks_uri?: string
  jwks?: NonNullable<ClientMetadata['jwks']>
  [guarantee: string]: unknown
}

/** `schemes`: private-use schemes without a dot that the operator allows. Throws the refusals of RFC 7591 §3.2.2. */
export function registerDynamically(
  { keys, now, schemes }: { keys: KeyRing; now: () => number; schemes: readonly string[] },
  request: ParsedJson,
): RegistrationResponse {
  const rules = { ownHost: null, schemes, otherMethods: 'replace_by_none' } as const
  const metadata = readMembers(requestedMembers(request), rules)
  if (metadata === 'metadata_redirect_uris') throw invalidRedirectUri()
  if (typeof metadata === 'string') throw invalidClientMetadata(metadata)
  const { name, redirectUris, grantTypes, authMethod, jwksUri, jwks } = metadata
  const at = now()
  const packed: PackedClient = [name, redirectUris, grantTypes, authMethod, jwksUri, jwks, at]
  const unusual = unusualGuarantees(metadata)
  if (Object.keys(unusual).length > 0) packed.push(unusual)
  const clientId = REGISTRATION.seal(keys, packed)
  if (clientId.length > CLIENT_ID_AT_MOST) throw invalidClientMetadata('metadata_too_long')
  return {
    client_id: clientId,
    client_id_issued_at: at,
    ...(name === '' ? {} : { client_name: name }),
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: authMethod,
    ...(jwksUri === null ? {} : { jwks_uri: jwksUri }),
    ...(jwks === null ? {} : { jwks }),
    ...statedGuarantees(metadata),
  }
}

function requestedMembers(request: ParsedJson): Record<string, unknown> {
  if (request.kind === 'member_twice') throw invalidClientMetadata('metadata_member_twice')
  const members = request.kind === 'parsed' ? objectOf(request.value) : null
  if (members === null) throw invalidClientMetadata('metadata_not_json')
  return members
}

/** The client of a sealed registration; null for a text that this service did not seal, or whose key is retired. */
export function openDynamicClient(keys: KeyRing, clientId: string, open: OpenResources): Client | null {
  if (clientId.length > CLIENT_ID_AT_MOST) return null
  const packed = REGISTRATION.open(keys, clientId)
  if (!packed) return null
  const [name, redirectUris, grantTypes, authMethod, jwksUri, jwks, , unusual] = packed
  const type = authMethod === 'none' ? 'native' : 'confidential'
  const guarantees = { ...USUAL_GUARANTEES, ...unusual }
  const metadata = { name, redirectUris, grantTypes, authMethod, jwksUri, jwks, type, ...guarantees } as const
  return clientOfMetadata(clientId, metadata, allowanceWith(open))
}
