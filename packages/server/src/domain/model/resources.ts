/** The registered resources, as the rest of the domain uses them. Each node keeps all of them in memory, so no look-up needs a query. */
import type { Limit } from '@grantor/protocol/limit'
import type { ClientKind, Resource } from './records.ts'

export type Resources = {
  find(uri: string): Resource | undefined
  /** Whether the resource is registered and lists the scope. */
  lists(uri: string, scope: string): boolean
  /** The most that a user can sign for the scope at this resource; undefined if the scope has no limit there. */
  limitOf(uri: string, scope: string): Limit | undefined
  /** The resources that list the scope. */
  listing(scope: string): readonly Resource[]
  /** What clients of this kind may request. The same object until a resource changes. */
  openTo(kind: ClientKind): OpenResources
  /** The scopes of all resources, sorted. */
  allScopes(): readonly string[]
}

/** The resources that are open to a kind of clients, sorted by URI, and the names of their scopes. */
export type OpenResources = { resources: readonly Resource[]; scopes: readonly string[]; hasScope(scope: string): boolean }
