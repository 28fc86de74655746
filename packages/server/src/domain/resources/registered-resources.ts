/** All registered resources in memory. A change of any resource reads all of them again: they are few, and they change rarely. */
import type { Limit } from '@grantor/protocol/limit'
import { type Changed, RESOURCES_CHANGED } from '../model/changes.ts'
import type { ClientKind, Resource } from '../model/records.ts'
import type { OpenResources, Resources } from '../model/resources.ts'
import type { Store } from '../model/store.ts'

export class RegisteredResources implements Resources {
  readonly #store: Pick<Store, 'resources'>
  readonly #own: readonly Resource[]
  #index: Index

  /** `own`: the resources of the service itself, which no registration replaces. */
  constructor(store: Pick<Store, 'resources'>, own: readonly Resource[] = []) {
    this.#store = store
    this.#own = own
    this.#index = indexOf(own)
  }

  find(uri: string): Resource | undefined {
    return this.#index.byUri.get(uri)?.resource
  }

  lists(uri: string, scope: string): boolean {
    return this.#index.byUri.get(uri)?.scopes.has(scope) === true
  }

  limitOf(uri: string, scope: string): Limit | undefined {
    return this.#index.byUri.get(uri)?.limits.get(scope)
  }

  listing(scope: string): readonly Resource[] {
    return this.#index.byScope.get(scope) ?? []
  }

  openTo(kind: ClientKind): OpenResources {
    const { all, open } = this.#index
    const known = open.get(kind)
    if (known) return known
    const resources = all.filter(({ openTo }) => openTo.includes(kind))
    const names = new Set(scopesOf(resources))
    const found = { resources, scopes: [...names], hasScope: (scope: string) => names.has(scope) }
    open.set(kind, found)
    return found
  }

  allScopes(): readonly string[] {
    return this.#index.scopes
  }

  /** Reads the resources again if one of them has changed. If that fails, the resources in memory stay. */
  async renew(changed: Changed): Promise<void> {
    if (changed === 'everything' || changed.includes(RESOURCES_CHANGED)) {
      const registered = await this.#store.resources.listResources()
      const others = registered.filter(({ uri }) => this.#own.every((own) => own.uri !== uri))
      this.#index = indexOf([...this.#own, ...others])
    }
  }
}

type Index = {
  all: readonly Resource[]
  byUri: Map<string, { resource: Resource; scopes: Set<string>; limits: Map<string, Limit> }>
  byScope: Map<string, Resource[]>
  scopes: string[]
  open: Map<ClientKind, OpenResources>
}

function indexOf(all: readonly Resource[]): Index {
  const byUri = new Map(
    all.map((resource) => {
      const scopes = new Set(resource.scopes.map(({ name }) => name))
      const limits = new Map(resource.scopes.flatMap(({ name, limit }) => (limit ? [[name, limit] as const] : [])))
      return [resource.uri, { resource, scopes, limits }]
    }),
  )
  const byScope = new Map<string, Resource[]>()
  for (const resource of all) {
    for (const { name } of resource.scopes) {
      const listing = byScope.get(name)
      if (listing) listing.push(resource)
      else byScope.set(name, [resource])
    }
  }
  return { all, byUri, byScope, scopes: scopesOf(all), open: new Map() }
}

function scopesOf(resources: readonly Resource[]): string[] {
  return [...new Set(resources.flatMap(({ scopes }) => scopes.map(({ name }) => name)))].sort()
}
