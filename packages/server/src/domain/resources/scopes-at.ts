/**
 * Which client may request which resource, and which scopes a token for a resource can have (RFC 8707 §2.2, RFC 9700 §2.3). These functions
 * only read memory, so they also run at each refresh.
 */
import { isStandardScope } from '../../protocol/oauth/standard-scopes.ts'
import { clientKindOf } from '../model/client-kind.ts'
import type { Deps, ServiceSettings } from '../model/deps.ts'
import type { Client } from '../model/records.ts'

export type KnownResources = Pick<Deps, 'resources'> & {
  settings: Pick<ServiceSettings, 'authUrl' | 'defaultResource' | 'scopeDescriptions'>
}

/**
 * A registered client may request the default resource and the resources that it lists. A client that is not registered may request
 * exactly the registered resources that are open to its kind, and the service itself, whose userinfo endpoint needs a token.
 */
export function mayRequest({ resources, settings }: KnownResources, client: Client, uri: string): boolean {
  const kind = clientKindOf(client)
  const resource = resources.find(uri)
  if (kind !== 'registered') return uri === settings.authUrl || resource?.openTo.includes(kind) === true
  const isListed = uri === settings.defaultResource || client.resources.includes(uri)
  return isListed && (resource === undefined || resource.openTo.includes(kind))
}

/**
 * Whether the client may have the scope at any resource. A client that is not registered can cause this check without authentication, so
 * the check does not search the list of all open scopes.
 */
export function mayHave({ resources }: Pick<Deps, 'resources'>, client: Client, scope: string): boolean {
  const kind = clientKindOf(client)
  if (kind === 'registered') return client.scopes.includes(scope)
  return isStandardScope(scope) || resources.openTo(kind).hasScope(scope)
}

/**
 * Those of the scopes of a registered client that no token of the client can have: none of its resources has them, whether the client
 * requests the resource or exchanges tokens for it.
 */
export function scopesOfNoResource(deps: KnownResources, client: Client, scopes: readonly string[]): string[] {
  if (clientKindOf(client) !== 'registered') return []
  const requested = [deps.settings.defaultResource, ...client.resources].filter((uri) => mayRequest(deps, client, uri))
  const given = new Set([...requested, ...client.exchangeResources].flatMap((uri) => scopesAt(deps, client, uri, scopes)))
  return scopes.filter((scope) => !given.has(scope))
}

/**
 * Those of the scopes that a token of the client for this resource can have. The scopes that the service defines belong to every
 * resource. All others of a client that is not registered must be listed by the resource.
 *
 * For registered clients, the scopes in the settings belong to every resource too. Of all others, a registered resource has those that it
 * lists, and a resource that is not registered has those that no registered resource lists.
 */
export function scopesAt(deps: KnownResources, client: Client, uri: string, scopes: readonly string[]): string[] {
  const { resources, settings } = deps
  const kind = clientKindOf(client)
  const resource = resources.find(uri)
  if (kind !== 'registered') {
    if (resource?.openTo.includes(kind)) return scopes.filter((scope) => isStandardScope(scope) || resources.lists(uri, scope))
    return uri === settings.authUrl ? scopes.filter(isStandardScope) : []
  }
  if (resource && !resource.openTo.includes(kind)) return []
  const isOfService = (scope: string): boolean => isStandardScope(scope) || Object.hasOwn(settings.scopeDescriptions, scope)
  return scopes.filter(
    (scope) => isOfService(scope) || (resource ? resources.lists(uri, scope) : resources.listing(scope).length === 0),
  )
}
