import type { Grant } from './records.ts'

/** The scopes that the grant allows for the resource; all of its scopes without a resource. */
export function grantedAt(
  { scopes, scopesByResource }: Pick<Grant, 'scopes' | 'scopesByResource'>,
  resource: string | undefined,
): readonly string[] {
  return resource === undefined || scopesByResource === null ? scopes : (scopesByResource[resource] ?? [])
}
