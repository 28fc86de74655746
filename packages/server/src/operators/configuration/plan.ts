/** The plan that makes a store equal to a configuration, and its execution. Each section has a file. */
import type { Store } from '../../domain/model/store.ts'
import { clientSection } from './clients.ts'
import { operatorSection } from './operators.ts'
import { resourceSection } from './resources.ts'
import type { ExportedPage, PlanEntry, PlannedChange, PlanOfSection, PlanParts, Section } from './section.ts'
import { NO_STORED_SECRETS } from './stored-secrets.ts'
import { webhookSection } from './webhooks.ts'

/** In the order of the file and of the plan. A further section is one row here. */
export const planSections = {
  resources: resourceSection,
  clients: clientSection,
  operators: operatorSection,
  webhooks: webhookSection,
} as const satisfies Record<string, Section>
export type SectionName = keyof typeof planSections
export const SECTION_NAMES = Object.keys(planSections) as SectionName[]

/** `null`: the configuration has no such section. */
export type Configuration = Readonly<Record<SectionName, readonly PlanEntry[] | null>>

export type Plan = { changes: PlannedChange[]; unchanged: number }

/** The plan, or one line for each fault in the configuration. With `prune`, entries that a section does not name are deleted. */
export async function planConfiguration(
  configuration: Configuration,
  { service, prune, storedSecrets = NO_STORED_SECRETS }: Pick<PlanParts, 'service' | 'prune'> & Partial<PlanParts>,
): Promise<Plan | { faults: string[] }> {
  const { store } = service
  const at = service.now()
  const keys = await store.keys.listKeys()
  const plans: PlanOfSection[] = []
  for (const name of SECTION_NAMES) {
    const entries = configuration[name]
    const parts = { service, store, keys, at, prune, storedSecrets, sections: configuration }
    if (entries) plans.push(await planSections[name].plan(entries, parts))
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

/** The entries of the store in pages, without members that have the value of a missing member. Each section has a page, which may be empty. */
export async function* exportConfiguration(store: Store): AsyncGenerator<ExportedPage & { name: SectionName }> {
  for (const name of SECTION_NAMES) {
    yield { name, entries: [], secrets: [] }
    for await (const page of planSections[name].exported(store)) yield { name, ...page }
  }
}
