import type { Resource } from '../../domain/model/records.ts'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { adminScopes } from '../../domain/operators/roles.ts'

/** The resources of the service itself, which no registration replaces: the admin API. `adminUrl` is null if it is off. */
export function ownResources(adminUrl: string | null): Resource[] {
  if (adminUrl === null) return []
  const scopes = Object.entries(adminScopes).map(([name, description]) => ({ name, description }))
  return [{ uri: adminResourceOf(adminUrl), name: 'Grantor admin API', scopes, openTo: ['registered'], createdAt: 0 }]
}
