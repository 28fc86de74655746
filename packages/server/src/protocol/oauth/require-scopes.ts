import { invalidScope } from './oauth-error.ts'
import type { ReasonOf } from './reasons.ts'

/** Refuses a request with scopes that are not allowed (RFC 6749 §5.2). The log names these scopes. */
export function requireScopes(
  scopes: readonly string[],
  isAllowed: (scope: string) => boolean,
  reason: ReasonOf<'invalid_scope'>,
): void {
  const refused = scopes.filter((each) => !isAllowed(each))
  if (refused.length > 0) throw invalidScope(reason, refused)
}
