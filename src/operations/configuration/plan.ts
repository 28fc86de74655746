/** The plan that makes a store equal to a configuration, and its execution. Each kind of entries has one file: `plan-….ts`. */
import type { Store } from '../../domain/model/store.ts'
import type { Members } from '../members/member.ts'
import type { Entry, Kind, PlannedChange, PlanOfKind, PlanParts } from './configuration.ts'
import { clientKind } from './plan-clients.ts'
import { operatorKind } from './plan-operators.ts'
import { resourceKind } from './plan-resources.ts'
import { webhookKind } from './plan-webhooks.ts'

/** The kinds by the name of their section, in the order of the file and of the plan. A further kind is one row here. */
export const kinds = {
  resources: resourceKind,
  clients: clientKind,
  operators: operatorKind,
  webhooks: webhookKind,
} as const satisfies Record<string, Kind>
export type KindName = keyof typeof kinds
export const KIND_NAMES = Object.keys(kinds) as KindName[]

/** `null`: the configuration has no section of this kind. */
export type Configuration = Readonly<Record<KindName, readonly Entry[] | null>>

export type Plan = { changes: PlannedChange[]; unchanged: number }

/** The plan, or one line for each fault in the configuration. With `prune`, entries that a section does not name are deleted. */
export async function planConfiguration(
  configuration: Configuration,
  { service, prune }: Pick<PlanParts, 'service' | 'prune'>,
): Promise<Plan | { faults: string[] }> {
  const { store } = service
  const at = service.now()
  const keys = await store.keys.listKeys()
  const plans: PlanOfKind[] = []
  for (const name of KIND_NAMES) {
    const entries = configuration[name]
    if (entries) plans.push(await kinds[name].plan(entries, { service, store, keys, at, prune, sections: configuration }))
  }
  const faults = plans.flatMap((plan) => plan.faults)
  if (faults.length > 0) return { faults }
  const changes = plans.flatMap((plan) => plan.changes)
  return {
    // Deletions come last: a plan that stops in the middle has then deleted nothing that its other half needs.
    changes: [...changes.filter(({ action }) => action !== 'delete'), ...changes.filter(({ action }) => action === 'delete')],
    unchanged: plans.reduce((sum, plan) => sum + plan.unchanged, 0),
  }
}

/** The entries of the store, without members that have the value of a missing member. */
export async function exportConfiguration(store: Store): Promise<Record<KindName, Members[]>> {
  const sections = await Promise.all(KIND_NAMES.map(async (name) => [name, await kinds[name].exported(store)] as const))
  return Object.fromEntries(sections) as Record<KindName, Members[]>
}
