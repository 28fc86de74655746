/** The operators of a configuration. An operator is found by the address of the wallet, or by the client id. */
import type { Operator, OperatorRole } from '../../domain/model/records.ts'
import { OPERATORS_AT_MOST, operatorIdOf, readOperators, walletOrClientOf } from '../../domain/operators/operators.ts'
import { operatorMembers } from '../members/operator-members.ts'
import { removeOperator, setOperator } from '../operations/operators.ts'
import { type Claim, type PlanEntry, sectionOf } from './section.ts'

export const operatorSection = sectionOf<Operator>({
  noun: 'operator',
  members: operatorMembers,
  atMost: OPERATORS_AT_MOST,
  isLimited: true,
  events: { create: 'operator_added', change: 'operator_changed', delete: 'operator_removed' },
  list: (store) => readOperators(store),
  naming({ id, role }) {
    const { wallet, clientId } = walletOrClientOf(id)
    return { id, name: role, act: { ...(wallet === undefined ? { client_id: clientId } : { wallet }), details: { role } } }
  },
  claims: claimsOf,
  after({ operator, role }, before, { at }) {
    const id = operatorIdOf(operator as string)
    return id === null ? null : { id, role: role as OperatorRole, createdAt: before?.createdAt ?? at }
  },
  async faults({ id }, _before, { store, sections }) {
    if (id.startsWith('0x') || sections.clients?.some(({ members }) => members.client_id === id)) return []
    return (await store.clients.readClient(id))
      ? []
      : [{ member: 'id', words: 'No client of this id is registered, or in this file.' }]
  },
  faultsOfAll(named, others, { prune }) {
    const left = prune ? named : [...named, ...others]
    const lacksOwner = named.length + others.length > 0 && !left.some(({ role }) => role === 'owner')
    return lacksOwner ? ['operators: at least one owner must remain.'] : []
  },
  operations: { create: setOperator, change: setOperator, delete: removeOperator },
  refused: 'other operators were changed meanwhile',
})

/** An owner comes first: the first operator must be an owner, and the last owner keeps the role until another one exists. */
function claimsOf(entries: readonly PlanEntry[], stored: readonly Operator[]): Claim<Operator>[] {
  const seen = new Set<string>()
  const claims = entries.map((entry): Claim<Operator> => {
    const id = operatorIdOf(entry.members.operator as string)
    if (id === null) return { entry, before: null, fault: 'operator must be a wallet address (0x…) or a client id.' }
    const fault = seen.has(id) ? 'The operator is named twice.' : undefined
    seen.add(id)
    return { entry, before: stored.find((operator) => operator.id === id) ?? null, fault }
  })
  return claims.toSorted((a, b) => Number(b.entry.members.role === 'owner') - Number(a.entry.members.role === 'owner'))
}
