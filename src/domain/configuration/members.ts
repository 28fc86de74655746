/**
 * The members of the entries of a configuration, written once. The reader of files, the export and the comparison with the store
 * derive everything from these tables. The names of clients are those of `clients show --json`, and of RFC 7591 §2 if it has one.
 */
import { SIGNING_ALGORITHMS } from '../../keys/signing-key.ts'
import { GRANT_TYPES } from '../../oauth/grant-types.ts'
import { RESPONSE_MODES } from '../../oauth/response-mode.ts'
import { CLIENT_DEFAULTS } from '../model/client-record.ts'
import { CLIENT_KINDS, type Client, OPERATOR_ROLES, type Operator, type Resource } from '../model/records.ts'

export type Shape =
  | { kind: 'text'; choices?: readonly string[] }
  | { kind: 'texts'; choices?: readonly string[] }
  | { kind: 'flag' }
  /** a JWK Set; `clientFaults` checks the keys */
  | { kind: 'key_set' }
  /** a list of `{ name, description }` */
  | { kind: 'scopes' }

export type Member<Key extends string = string> = {
  /** the property of the record */
  key: Key
  shape: Shape
  required?: true
  /** true if the value may be null */
  nullable?: true
  /** The value of a missing member, if it does not depend on other members. The export leaves such a value out. */
  preset?: unknown
}

export type MemberTable<Key extends string = string> = Readonly<Record<string, Member<Key>>>

const text = { kind: 'text' } as const
const texts = { kind: 'texts' } as const
const flag = { kind: 'flag' } as const
const algorithm = { kind: 'text', choices: SIGNING_ALGORITHMS } as const

/** In an entry, `disabledAt` is the flag `disabled`: see `membersOfClient`. */
type ClientKey = Exclude<keyof Client, 'secrets' | 'createdAt'>

export const clientMembers = {
  client_id: { key: 'id', shape: text },
  name: { key: 'name', shape: text, required: true },
  type: { key: 'type', shape: { kind: 'text', choices: ['confidential', 'public', 'native'] } },
  disabled: { key: 'disabledAt', shape: flag, preset: false },
  redirect_uris: { key: 'redirectUris', shape: texts },
  scopes: { key: 'scopes', shape: texts },
  default_scopes: { key: 'defaultScopes', shape: texts },
  resources: { key: 'resources', shape: texts, preset: [] },
  resource_server: { key: 'resourceServer', shape: text, nullable: true, preset: null },
  exchange_resources: { key: 'exchangeResources', shape: texts, preset: [] },
  consent: { key: 'consent', shape: { kind: 'text', choices: ['session', 'signed'] } },
  require_pkce: { key: 'requirePkce', shape: flag, preset: false },
  token_endpoint_auth_method: {
    key: 'authMethod',
    shape: { kind: 'text', choices: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] },
  },
  grant_types: { key: 'grantTypes', shape: { kind: 'texts', choices: GRANT_TYPES } },
  profile: {
    key: 'profile',
    shape: { kind: 'text', choices: ['default', 'fapi2'] },
    preset: CLIENT_DEFAULTS.profile,
  },
  jwks: { key: 'jwks', shape: { kind: 'key_set' }, nullable: true, preset: null },
  jwks_uri: { key: 'jwksUri', shape: text, nullable: true, preset: null },
  require_pushed_authorization_requests: { key: 'requirePushedRequests', shape: flag, preset: false },
  require_signed_request_object: { key: 'requestObjectSigned', shape: flag, preset: false },
  dpop_bound_access_tokens: { key: 'dpopBound', shape: flag, preset: false },
  id_token_signed_response_alg: { key: 'idTokenAlgorithm', shape: algorithm, preset: CLIENT_DEFAULTS.idTokenAlgorithm },
  introspection_signed_response_alg: { key: 'introspectionSigned', shape: algorithm, nullable: true, preset: null },
  authorization_signed_response_alg: {
    key: 'authorizationAlgorithm',
    shape: algorithm,
    preset: CLIENT_DEFAULTS.authorizationAlgorithm,
  },
  response_modes: { key: 'responseModes', shape: { kind: 'texts', choices: RESPONSE_MODES }, nullable: true, preset: null },
  post_logout_redirect_uris: { key: 'postLogoutRedirectUris', shape: texts, preset: [] },
  backchannel_logout_uri: { key: 'backchannelLogoutUri', shape: text, nullable: true, preset: null },
  backchannel_logout_session_required: { key: 'backchannelLogoutSessionRequired', shape: flag, preset: false },
} as const satisfies MemberTable<ClientKey>

export const resourceMembers = {
  resource: { key: 'uri', shape: text, required: true },
  name: { key: 'name', shape: text, required: true },
  scopes: { key: 'scopes', shape: { kind: 'scopes' }, required: true },
  open_to: { key: 'openTo', shape: { kind: 'texts', choices: CLIENT_KINDS } },
} as const satisfies MemberTable<Exclude<keyof Resource, 'createdAt'>>

export const operatorMembers = {
  operator: { key: 'id', shape: text, required: true },
  role: { key: 'role', shape: { kind: 'text', choices: OPERATOR_ROLES }, required: true },
} as const satisfies MemberTable<Exclude<keyof Operator, 'createdAt'>>

/** The members of a record, with the names of the file. */
export type Members = Readonly<Record<string, unknown>>

export function membersOfClient(client: Client): Members {
  return Object.fromEntries(
    Object.entries(clientMembers).map(([name, { key }]) => [
      name,
      key === 'disabledAt' ? client.disabledAt !== null : client[key],
    ]),
  )
}

export function membersOfResource(resource: Resource): Members {
  return Object.fromEntries(Object.entries(resourceMembers).map(([name, { key }]) => [name, resource[key]]))
}

/** The values under the names of the record's properties. */
export function byKey(table: MemberTable, members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (table[name] ? [[table[name].key, value]] : [])))
}

/** The members without those that have the value of a missing member. */
export function withoutPresets(table: MemberTable, members: Members): Members {
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => {
      const preset = table[name]?.preset
      return preset === undefined || !isSame(preset, value)
    }),
  )
}

export type MemberChange = { name: string; before: unknown; after: unknown }

/** The names of the changed members, for the audit trail. */
export function changedNames(changes: readonly MemberChange[]): { changed: string } | undefined {
  return changes.length === 0 ? undefined : { changed: changes.map(({ name }) => name).join(' ') }
}

export function changesBetween(before: Members, after: Members): MemberChange[] {
  return Object.keys(after)
    .filter((name) => !isSame(before[name], after[name]))
    .map((name) => ({ name, before: before[name], after: after[name] }))
}

/** Whether two JSON values are the same. The order counts in a list, and does not count in an object. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, sorted) === JSON.stringify(other, sorted)
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
