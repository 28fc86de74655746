/** What an operator should know about a client that can be registered: what may not work. */
import { lifetimeWarnings } from '../model/client-lifetimes.ts'
import type { Client } from '../model/records.ts'
import { type TextFacts, textWarnings } from './longest-text.ts'
import { scopesOfNoResource } from './scopes-at.ts'

/** One sentence each. */
export function clientWarnings(facts: TextFacts, client: Client): string[] {
  return [
    ...scopeWarnings(facts, client),
    ...limitWarnings(facts, client),
    ...textWarnings(facts, client),
    ...lifetimeWarnings(facts.settings.lifetimes, client),
  ]
}

/** A request for such a scope is refused (`scope_of_no_resource`), so the client would fail only at its first sign-in. */
function scopeWarnings(facts: TextFacts, client: Client): string[] {
  const scopes = scopesOfNoResource(facts, client, client.scopes)
  if (scopes.length === 0) return []
  const which = scopes.length === 1 ? `the scope ${scopes[0]}` : `the scopes ${scopes.join(', ')}`
  return [
    `No resource of this client has ${which}, so every request for ${scopes.length === 1 ? 'this scope' : 'one of these'} is refused. Add the resource to the client, or the scope to a resource.`,
  ]
}

/** A request has at most one scope with a limit. */
function limitWarnings({ resources, settings }: TextFacts, client: Client): string[] {
  const limited = client.defaultScopes.filter((scope) =>
    [settings.defaultResource, ...client.resources].some((uri) => resources.limitOf(uri, scope) !== undefined),
  )
  if (limited.length < 2) return []
  return [
    `The default scopes of this client contain ${limited.length} scopes with a limit (${limited.join(', ')}), and a request can have one. A request without the parameter scope is refused if its resources have more than one of them.`,
  ]
}
