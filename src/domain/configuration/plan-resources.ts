/** The plan for the resources of a configuration. A resource is found by its URI. */
import { RESOURCES_AT_MOST } from '../model/operator-store.ts'
import type { ClientKind, Resource, ResourceScope } from '../model/records.ts'
import { CLIENT_KINDS } from '../model/records.ts'
import type { Store } from '../model/store.ts'
import { resourceFaults } from '../resources/resource-faults.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'
import type { Entry, Kind, PlannedChange, PlanOfKind, PlanParts } from './configuration.ts'
import {
  changedNames,
  changesBetween,
  type MemberChange,
  type Members,
  membersOfResource,
  resourceMembers,
  withoutPresets,
} from './members.ts'

export const resourceKind: Kind = {
  members: resourceMembers,
  atMost: RESOURCES_AT_MOST,
  plan: planResources,
  exported: async (store) =>
    (await store.resources.listResources()).map((resource) => withoutPresets(resourceMembers, membersOfResource(resource))),
}

async function planResources(entries: readonly Entry[], { store, at, prune }: PlanParts): Promise<PlanOfKind> {
  const stored = new Map((await store.resources.listResources()).map((resource) => [resource.uri, resource]))
  const named = new Map<string, string>()
  const plan: PlanOfKind = { changes: [], unchanged: 0, faults: [] }
  for (const { place, members } of entries) {
    const before = stored.get(members.resource as string)
    const after = resourceOf(members, before?.createdAt ?? at)
    const faults = resourceFaults(after)
    const other = named.get(after.uri)
    if (other !== undefined) faults.push(`The resource is named twice, also in ${other}.`)
    named.set(after.uri, place)
    plan.faults.push(...faults.map((fault) => `${place}: ${fault}`))
    if (before && changesBetween(membersOfResource(before), membersOfResource(after)).length === 0) plan.unchanged += 1
    else plan.changes.push(before ? planUpdate(store, before, after) : planCreation(store, after))
  }
  const others = [...stored.values()].filter(({ uri }) => !named.has(uri))
  if (prune) plan.changes.push(...others.map((resource) => planDeletion(store, resource)))
  const kept = named.size + (prune ? 0 : others.length)
  // Before a prune, the deleted resources still count, because deletions come last.
  if (kept > RESOURCES_AT_MOST || named.size + others.length > RESOURCES_AT_MOST)
    plan.faults.push(
      `At most ${RESOURCES_AT_MOST} resources can be registered, and there would be ${named.size + others.length}. Delete some first: grantor resources delete`,
    )
  return plan
}

function resourceOf({ resource, name, scopes, open_to: openTo = ['registered'] }: Members, createdAt: number): Resource {
  return {
    uri: resource as string,
    name: (name as string).trim(),
    scopes: (scopes as ResourceScope[]).map((scope) => ({ name: scope.name, description: scope.description.trim() })),
    openTo: CLIENT_KINDS.filter((kind) => (openTo as ClientKind[]).includes(kind)),
    createdAt,
  }
}

const EVENTS = { create: 'resource_created', change: 'resource_changed', delete: 'resource_deleted' } as const

function describeChange(
  { uri, name }: Resource,
  action: PlannedChange['action'],
  members: MemberChange[] = [],
): Omit<PlannedChange, 'carryOut'> {
  return {
    kind: 'resource',
    action,
    id: uri,
    name,
    members,
    act: { event: EVENTS[action], resource: uri, details: changedNames(members) },
    newSecret: false,
    secretsRemoved: 0,
    grantsEnded: null,
  }
}

function planCreation(store: Store, resource: Resource): PlannedChange {
  return {
    ...describeChange(resource, 'create'),
    async carryOut(at) {
      const outcome = await store.resources.insertResource({ ...resource, createdAt: at })
      if (outcome !== 'inserted')
        throw new ChangedMeanwhile(
          outcome === 'taken' ? 'it was registered meanwhile' : 'other resources were registered meanwhile',
        )
      return { grantsEnded: 0 }
    },
  }
}

function planUpdate(store: Store, before: Resource, after: Resource): PlannedChange {
  return {
    ...describeChange(after, 'change', changesBetween(membersOfResource(before), membersOfResource(after))),
    async carryOut() {
      const changed = await store.resources.changeResource(before.uri, (present) => {
        requireSame(before, present)
        return { ...after, createdAt: present.createdAt }
      })
      if (changed === null) throw new ChangedMeanwhile('it was deleted meanwhile')
      return { grantsEnded: 0 }
    },
  }
}

/** No client may request the resource from the moment at which it was compared, so the deletion takes effect in one step. */
function planDeletion(store: Store, before: Resource): PlannedChange {
  return {
    ...describeChange(before, 'delete'),
    async carryOut() {
      await store.resources.changeResource(before.uri, (present) => {
        requireSame(before, present)
        return { ...present, openTo: [] }
      })
      await store.resources.deleteResource(before.uri)
      return { grantsEnded: 0 }
    },
  }
}

function requireSame(before: Resource, present: Resource): void {
  if (changesBetween(membersOfResource(before), membersOfResource(present)).length > 0)
    throw new ChangedMeanwhile('it was changed meanwhile')
}
