/** The scopes of a request that count (RFC 6749 §3.3: the server may "fully or partially ignore the scope requested by the client"). */
import { isOptionalScope, isStandardScope, STANDARD_SCOPES } from '../../protocol/oauth/standard-scopes.ts'
import { clientKindOf } from '../model/client-kind.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'

/**
 * Without `openid`: all requested scopes. With `openid`, the following scopes are left out:
 *
 * - A scope that neither the service nor a resource nor the client defines, such as `offline_access` (OpenID Connect Core §11). §3.1.2.1:
 *   "Scope values used that are not understood by an implementation SHOULD be ignored."
 * - A standard scope, such as `profile`, that the client is not registered for: many libraries request `openid profile email` by default.
 *
 * A refresh uses the same rule, because many libraries repeat the scopes of the authorization request.
 */
export function understoodScopes(deps: Deps, client: Client, requested: string[]): string[] {
  if (!requested.includes('openid')) return requested
  const { settings, resources } = deps
  const isDefined = (scope: string): boolean =>
    isStandardScope(scope) || Object.hasOwn(settings.scopeDescriptions, scope) || resources.listing(scope).length > 0
  // A client that is not registered has no scopes of its own.
  const own = clientKindOf(client) === 'registered' ? client.scopes : STANDARD_SCOPES
  return requested.filter((each) => own.includes(each) || (isDefined(each) && !isOptionalScope(each)))
}
