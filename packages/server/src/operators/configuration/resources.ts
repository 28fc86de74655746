/** The resources of a configuration. A resource is found by its URI. */
import { RESOURCES_AT_MOST } from '../../domain/model/operator-store.ts'
import type { Resource } from '../../domain/model/records.ts'
import { byKey } from '../members/member.ts'
import { resourceMembers } from '../members/resource-members.ts'
import { createResource, deleteResource, faultsOf, resourceOf, updateResource } from '../operations/resources.ts'
import { resourceWarningsOf } from '../operations/service.ts'
import { type Claim, type PlanEntry, sectionOf } from './section.ts'

export const resourceSection = sectionOf<Resource>({
  noun: 'resource',
  members: resourceMembers,
  atMost: RESOURCES_AT_MOST,
  isLimited: true,
  events: { create: 'resource_created', change: 'resource_changed', delete: 'resource_deleted' },
  list: (store) => store.resources.listResources(),
  naming: ({ uri, name }) => ({ id: uri, name, act: { resource: uri } }),
  claims: claimsOf,
  after: (members, before, { at }) => resourceOf({ ...byKey(resourceMembers, members), createdAt: before?.createdAt ?? at }),
  faults: (after, _before, { service }) => faultsOf(service, after),
  async effects(step, { service }, planned) {
    if (step.action === 'delete') return {}
    const [warnings = []] = await resourceWarningsOf(service, [step.after], planned)
    return { warnings }
  },
  operations: { create: createResource, change: updateResource, delete: deleteResource },
})

function claimsOf(entries: readonly PlanEntry[], stored: readonly Resource[]): Claim<Resource>[] {
  const byUri = new Map<unknown, Resource>(stored.map((resource) => [resource.uri, resource]))
  const places = new Map<unknown, string>()
  return entries.map((entry) => {
    const { resource: uri } = entry.members
    const other = places.get(uri)
    places.set(uri, entry.place)
    const fault = other === undefined ? undefined : `The resource is named twice, also in ${other}.`
    return { entry, before: byUri.get(uri) ?? null, fault }
  })
}
