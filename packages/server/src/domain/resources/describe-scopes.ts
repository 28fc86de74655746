/** The descriptions of scopes that users read. */
import type { Deps } from '../model/deps.ts'
import { grantedAt } from '../model/granted-scopes.ts'
import type { Grant } from '../model/records.ts'

export type DescribedScope = {
  name: string
  description: string
  /** the resources that have the scope; absent if every resource has every scope. The name of a resource that is not registered is empty. */
  resources?: { uri: string; name: string }[]
}

/** Each scope with the description of its resources, or else the one of the settings, or else its name. */
export function describeScopes(
  deps: Pick<Deps, 'resources' | 'settings'>,
  of: Pick<Grant, 'scopes' | 'resources' | 'scopesByResource'>,
): DescribedScope[] {
  return of.scopes.map((name) => {
    const uris = of.resources.filter((uri) => grantedAt(of, uri).includes(name))
    const scope = { name, description: descriptionOf(deps, name, uris) }
    if (of.scopesByResource === null) return scope
    return { ...scope, resources: uris.map((uri) => ({ uri, name: deps.resources.find(uri)?.name ?? '' })) }
  })
}

function descriptionOf({ resources, settings }: Pick<Deps, 'resources' | 'settings'>, name: string, uris: string[]): string {
  const own = resources
    .listing(name)
    .filter(({ uri }) => uris.includes(uri))
    .flatMap(({ scopes }) => scopes.filter((scope) => scope.name === name).map(({ description }) => description))
  // Resources that have a scope of the same name may describe it differently.
  return [...new Set(own)].join('; ') || (settings.scopeDescriptions[name] ?? name)
}
