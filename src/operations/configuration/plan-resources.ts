/** The plan for the resources of a configuration. A resource is found by its URI. */
import { RESOURCES_AT_MOST } from '../../domain/model/operator-store.ts'
import type { Resource } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { resourceFaults } from '../../domain/resources/resource-faults.ts'
import { byKey, type MemberChange, membersOf, withoutPresets } from '../members/member.ts'
import { resourceMembers } from '../members/resource-members.ts'
import { resourceOf } from '../resources.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'
import {
  describe,
  differences,
  type Entry,
  type Kind,
  type PlannedChange,
  type PlanOfKind,
  type PlanParts,
  requireSame,
} from './configuration.ts'

export const resourceKind: Kind = {
  members: resourceMembers,
  atMost: RESOURCES_AT_MOST,
  plan: planResources,
  exported: async (store) =>
    (await store.resources.listResources()).map((resource) =>
      withoutPresets(resourceMembers, membersOf(resourceMembers, resource)),
    ),
}

async function planResources(entries: readonly Entry[], { store, at, prune }: PlanParts): Promise<PlanOfKind> {
  const stored = new Map((await store.resources.listResources()).map((resource) => [resource.uri, resource]))
  const named = new Map<string, string>()
  const plan: PlanOfKind = { changes: [], unchanged: 0, faults: [] }
  for (const { place, members } of entries) {
    const before = stored.get(members.resource as string)
    const after = resourceOf({ ...byKey(resourceMembers, members), createdAt: before?.createdAt ?? at })
    const faults = resourceFaults(after)
    const other = named.get(after.uri)
    if (other !== undefined) faults.push(`The resource is named twice, also in ${other}.`)
    named.set(after.uri, place)
    plan.faults.push(...faults.map((fault) => `${place}: ${fault}`))
    if (before && differences(resourceMembers, before, after).length === 0) plan.unchanged += 1
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

const EVENTS = { create: 'resource_created', change: 'resource_changed', delete: 'resource_deleted' } as const

function describeChange({ uri, name }: Resource, action: PlannedChange['action'], members: MemberChange[] = []) {
  return describe({ kind: 'resource', action, id: uri, name, members, act: { event: EVENTS[action], resource: uri } })
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
    ...describeChange(after, 'change', differences(resourceMembers, before, after)),
    async carryOut() {
      const changed = await store.resources.changeResource(before.uri, (present) => {
        requireSame(resourceMembers, before, present)
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
        requireSame(resourceMembers, before, present)
        return { ...present, openTo: [] }
      })
      await store.resources.deleteResource(before.uri)
      return { grantsEnded: 0 }
    },
  }
}
