/** OpenID Connect Core §3.1.2.1: "Scope values used that are not understood by an implementation SHOULD be ignored." */
import { OPENID_SCOPES } from '../oauth/scope.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'

/**
 * What of the asked scopes counts: with `openid` among them those that mean something here, to this client or to another;
 * `offline_access` (§11) is not one of them. Without `openid` all of them.
 *
 * A refresh is read the same way, because many libraries name there what they named at first.
 */
export function understoodScopes(deps: Deps, client: Client, asked: string[]): string[] {
  if (!asked.includes('openid')) return asked
  const defined = [...OPENID_SCOPES, ...Object.keys(deps.settings.scopeDescriptions), ...client.scopes]
  return asked.filter((each) => defined.includes(each))
}
