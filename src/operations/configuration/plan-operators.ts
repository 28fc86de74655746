/** The plan for the operators of a configuration. An operator is found by the address of the wallet, or by the client id. */
import type { Operator, OperatorRole } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import {
  OPERATORS_AT_MOST,
  operatorIdOf,
  readOperators,
  removeOperator,
  setOperator,
  walletOrClientOf,
} from '../../domain/operators/operators.ts'
import { operatorMembers } from '../members/operator-members.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'
import { describe, type Entry, type Kind, type PlannedChange, type PlanOfKind, type PlanParts } from './configuration.ts'

export const operatorKind: Kind = {
  members: operatorMembers,
  atMost: OPERATORS_AT_MOST,
  plan: planOperators,
  exported: async (store) => (await readOperators(store)).map(({ id, role }) => ({ operator: id, role })),
}

async function planOperators(entries: readonly Entry[], parts: PlanParts): Promise<PlanOfKind> {
  const { store, prune } = parts
  const stored = await readOperators(store)
  const plan: PlanOfKind = { changes: [], unchanged: 0, faults: [] }
  const wanted = new Map<string, OperatorRole>()
  for (const entry of entries) {
    const id = operatorIdOf(entry.members.operator as string)
    const fault = id === null ? 'operator must be a wallet address (0x…) or a client id.' : await faultOf(id, wanted, parts)
    if (id !== null) wanted.set(id, entry.members.role as OperatorRole)
    if (fault !== null) plan.faults.push(`${entry.place}: ${fault}`)
  }
  for (const [id, role] of wanted) {
    const before = stored.find((operator) => operator.id === id)
    if (before?.role === role) plan.unchanged += 1
    else plan.changes.push(planRole(store, { id, role }, before))
  }
  // An owner comes first: the first operator must be an owner, and the last owner keeps the role until another one exists.
  plan.changes.sort((a, b) => Number(b.name === 'owner') - Number(a.name === 'owner'))
  const others = stored.filter(({ id }) => !wanted.has(id))
  if (prune) plan.changes.push(...others.map((operator) => planRemoval(store, operator)))
  plan.faults.push(...faultsOfAll(wanted, { stored, others, prune }))
  return plan
}

async function faultOf(id: string, wanted: ReadonlyMap<string, unknown>, { store, sections }: PlanParts): Promise<string | null> {
  if (wanted.has(id)) return 'The operator is named twice.'
  if (id.startsWith('0x') || sections.clients?.some(({ members }) => members.client_id === id)) return null
  return (await store.clients.readClient(id)) ? null : 'No client of this id is registered, or in this file.'
}

type Remaining = { stored: readonly Operator[]; others: readonly Operator[]; prune: boolean }

function faultsOfAll(wanted: ReadonlyMap<string, OperatorRole>, { stored, others, prune }: Remaining): string[] {
  const kept = prune ? [] : others
  const roles = [...wanted.values(), ...kept.map(({ role }) => role)]
  // Removed operators still count, because removals come last.
  const most = wanted.size + others.length
  return [
    ...((stored.length > 0 || roles.length > 0) && !roles.includes('owner')
      ? ['operators: at least one owner must remain.']
      : []),
    ...(most > OPERATORS_AT_MOST ? [`operators: at most ${OPERATORS_AT_MOST} are possible, and there would be ${most}.`] : []),
  ]
}

const EVENTS = { create: 'operator_added', change: 'operator_changed', delete: 'operator_removed' } as const

function describeChange({ id, role }: Pick<Operator, 'id' | 'role'>, action: PlannedChange['action']) {
  const { wallet, clientId } = walletOrClientOf(id)
  const of = wallet === undefined ? { client_id: clientId } : { wallet }
  return describe({ kind: 'operator', action, id, name: role, act: { event: EVENTS[action], ...of, details: { role } } })
}

function planRole(store: Store, operator: Pick<Operator, 'id' | 'role'>, before: Operator | undefined): PlannedChange {
  return {
    ...describeChange(operator, before ? 'change' : 'create'),
    members: before ? [{ name: 'role', before: before.role, after: operator.role }] : [],
    async carryOut(at) {
      requireDone(await setOperator(store, { ...operator, at }, (present) => requireSame(before, present)))
      return { grantsEnded: 0 }
    },
  }
}

function planRemoval(store: Store, before: Operator): PlannedChange {
  return {
    ...describeChange(before, 'delete'),
    async carryOut() {
      requireDone(await removeOperator(store, before.id, (present) => requireSame(before, present)))
      return { grantsEnded: 0 }
    },
  }
}

function requireSame(before: Operator | undefined, present: Operator | null): void {
  if (before?.role !== present?.role) throw new ChangedMeanwhile('it was changed meanwhile')
}

function requireDone(outcome: Awaited<ReturnType<typeof setOperator>>): void {
  if (outcome.kind === 'refused') throw new ChangedMeanwhile('other operators were changed meanwhile')
}
