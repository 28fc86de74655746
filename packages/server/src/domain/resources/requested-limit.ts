/** The limit that the wallet signs for a request: of at most one scope, at one resource. */

import { invalidScope } from '../../protocol/oauth/oauth-error.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'
import type { Deps } from '../model/deps.ts'
import { grantedAt } from '../model/granted-scopes.ts'
import type { Grant } from '../model/records.ts'

/**
 * Null if no scope of the request has a limit.
 *
 * @throws OAuthError if two scopes have one, or if a second resource has a scope of the same name: the signed text names the scope alone.
 */
export function requestedLimit(
  { resources }: Pick<Deps, 'resources'>,
  request: Pick<Grant, 'scopes' | 'resources' | 'scopesByResource'>,
): ScopeLimit | null {
  const pairs = request.resources.flatMap((resource) => grantedAt(request, resource).map((scope) => ({ resource, scope })))
  const limited = pairs.flatMap(({ resource, scope }) => {
    const limit = resources.limitOf(resource, scope)
    return limit ? [{ resource, scope, limit }] : []
  })
  const [only = null] = limited
  if (only === null) return null
  const isUnclear = pairs.some(({ resource, scope }) => resource !== only.resource && scope === only.scope)
  if (limited.length > 1 || isUnclear) throw invalidScope('more_than_one_limit')
  return only
}
