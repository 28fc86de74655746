/** OpenID Connect Core §3.1.2.1: "Scope values used that are not understood by an implementation SHOULD be ignored." */
import { isStandardScope } from '../../oauth/standard-scopes.ts'
import { clientKindOf } from '../model/client-kind.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'

/**
 * With `openid`: the requested scopes that the service, a resource or the client defines, so not `offline_access` (§11). Without `openid`: all
 * requested scopes.
 *
 * A refresh uses the same rule, because many libraries repeat the scopes of the authorization request.
 */
export function understoodScopes(deps: Deps, client: Client, requested: string[]): string[] {
  if (!requested.includes('openid')) return requested
  const { settings, resources } = deps
  const isDefined = (scope: string): boolean =>
    isStandardScope(scope) || Object.hasOwn(settings.scopeDescriptions, scope) || resources.listing(scope).length > 0
  // A client that is not registered has no scopes of its own.
  const own = clientKindOf(client) === 'registered' ? client.scopes : []
  return requested.filter((each) => isDefined(each) || own.includes(each))
}
