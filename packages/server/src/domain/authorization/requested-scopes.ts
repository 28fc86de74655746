/**
 * The scopes and resources of an authorization request (RFC 6749 §3.3, RFC 8707 §2.1).
 *
 * A client that is not registered cannot know the default resource or default scopes of the service. If such a client names no resource, the
 * scopes select the resource. If it names no scope, it requests the scopes of the resources.
 */

import { parseScope } from '@grantor/protocol/scope'
import {
  invalidRequest,
  invalidScope,
  invalidTarget,
  type OAuthError,
  scopeOfNoResource,
} from '../../protocol/oauth/oauth-error.ts'
import type { Parameters } from '../../protocol/oauth/parameters.ts'
import { requireScopes } from '../../protocol/oauth/require-scopes.ts'
import { isResourceUri } from '../../protocol/oauth/resource-uri.ts'
import { isStandardScope } from '../../protocol/oauth/standard-scopes.ts'
import { understoodScopes } from '../clients/understood-scopes.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import { clientKindOf } from '../model/client-kind.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, Resource } from '../model/records.ts'
import { requestedLimit } from '../resources/requested-limit.ts'
import { mayHave, mayRequest, scopesAt, scopesOfNoResource } from '../resources/scopes-at.ts'

type ScopeParameters = Parameters<'response_type' | 'scope', 'resource'>
type RequestedScopes = Pick<AuthorizationRequest, 'scopes' | 'resources' | 'scopesByResource' | 'limit'>

export function readScopesAndResources(deps: Deps, client: Client, parameters: ScopeParameters): RequestedScopes {
  const named = readScopes(deps, client, parameters)
  const asked = readResources(deps, client, parameters.resource)
  const resources = asked ?? [chooseResource(deps, client, named)]
  const scopes = named ?? usualScopes(deps, client, resources)
  const pairs = resources.map((uri) => [uri, scopesAt(deps, client, uri, scopes)] as const)
  if (!isPaired(pairs, scopes)) throw scopesRefused(deps, client, { scopes, asked })
  const isEverywhere = pairs.every(([, own]) => own.length === scopes.length)
  const requested = { scopes, resources, scopesByResource: isEverywhere ? null : Object.fromEntries(pairs) }
  return { ...requested, limit: requestedLimit(deps, requested) }
}

function scopesRefused(deps: Deps, client: Client, { scopes, asked }: { scopes: string[]; asked: string[] | null }): OAuthError {
  const [impossible] = scopesOfNoResource(deps, client, scopes)
  if (impossible !== undefined) return scopeOfNoResource(impossible)
  return invalidScope(asked === null ? 'resource_missing' : 'scope_of_another_resource')
}

/** The scopes that the request names; null without a `scope` parameter. */
function readScopes(deps: Deps, client: Client, { scope, response_type: responseType }: ScopeParameters): string[] | null {
  if (scope === null) return null
  const scopes = parseScope(scope)
  if (!scopes) throw invalidScope('scope_malformed')
  const understood = understoodScopes(deps, client, scopes)
  requireScopes(understood, (each) => mayHave(deps, client, each), 'scope_not_allowed')
  // OpenID Connect Core §3.1.2.1 requires `response_type`.
  if (understood.includes('openid') && responseType === null)
    throw invalidRequest('response_type_missing', 'scope openid needs response_type=code.')
  return understood
}

/** The resources that the request names; null without a `resource` parameter. */
function readResources(deps: Deps, client: Client, resources: string[]): string[] | null {
  for (const resource of resources) {
    if (!isResourceUri(resource)) throw invalidTarget('resource_malformed')
    if (!mayRequest(deps, client, resource)) throw invalidTarget('resource_not_allowed')
  }
  return resources.length > 0 ? [...new Set(resources)] : null
}

/** The resource of a request that names none. It is stored by name, so that the grant stays the same if the operator changes the default. */
function chooseResource(deps: Deps, client: Client, named: string[] | null): string {
  const { defaultResource, authUrl } = deps.settings
  const kind = clientKindOf(client)
  if (kind === 'registered') {
    if (!mayRequest(deps, client, defaultResource)) throw invalidTarget('resource_not_allowed')
    return defaultResource
  }
  const wanted = named?.filter((scope) => !isStandardScope(scope)) ?? null
  // Only scopes of the service: a sign-in. The token is for the userinfo endpoint, unless the default resource is open to all such clients.
  if (wanted?.length === 0) return mayRequest(deps, client, defaultResource) ? defaultResource : authUrl
  const { resources } = deps.resources.openTo(kind)
  const fitting = wanted === null ? resources : resources.filter(hasAll(deps, wanted))
  const isDefault = ({ uri }: Resource): boolean => uri === defaultResource
  const [only = null, ...others] = fitting.some(isDefault) ? fitting.filter(isDefault) : fitting
  if (only !== null && others.length === 0) return only.uri
  if (wanted === null) return authUrl
  throw invalidTarget('resource_unclear')
}

function hasAll({ resources }: Deps, scopes: readonly string[]): (resource: Resource) => boolean {
  return ({ uri }) => scopes.every((scope) => resources.lists(uri, scope))
}

/** RFC 6749 §3.3: "process the request using a pre-defined default value" */
function usualScopes(deps: Deps, client: Client, resources: readonly string[]): string[] {
  const kind = clientKindOf(client)
  if (kind === 'registered') {
    return client.defaultScopes.filter((scope) => resources.some((uri) => scopesAt(deps, client, uri, [scope]).length > 0))
  }
  const own = resources.flatMap((uri) => {
    const listed = deps.resources.find(uri)?.scopes.map(({ name }) => name) ?? []
    return scopesAt(deps, client, uri, listed.length > 0 ? listed : client.defaultScopes)
  })
  return [...new Set(own)]
}

/** Whether each scope belongs to a resource of the request, and each resource has a scope. */
function isPaired(pairs: readonly (readonly [uri: string, own: string[]])[], scopes: string[]): boolean {
  const paired = new Set(pairs.flatMap(([, own]) => own))
  return paired.size === scopes.length && pairs.every(([, own]) => own.length > 0)
}
