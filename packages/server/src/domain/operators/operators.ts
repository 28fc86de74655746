/**
 * The list of operators. The list always contains an owner, unless the list is empty: the first operator is an owner, and the last owner
 * cannot be removed. The list is one record of the store, so the rule also holds if several changes race.
 */
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import { isClientId } from '../model/client-id.ts'
import type { ListStore } from '../model/operator-store.ts'
import type { Operator, OperatorRole } from '../model/records.ts'

/** Each request to the admin API reads the whole list. */
export const OPERATORS_AT_MOST = 100

type OperatorLists = { lists: ListStore }

export type OperatorRefusal = 'last_owner' | 'first_must_be_owner' | 'too_many' | 'unknown'
export type OperatorOutcome = { kind: 'done'; operator: Operator; isNew: boolean } | { kind: 'refused'; why: OperatorRefusal }

/** The id of an operator in its normalized form: the address of a wallet (EIP-55), or a client id. Null for any other text. */
export function operatorIdOf(text: string): string | null {
  if (isClientId(text)) return text
  const parsed = parseAddress(text)
  return parsed.kind === 'address' ? parsed.address : null
}

/** The wallet or the client that an operator is, for a line of the audit trail. */
export function walletOrClientOf(
  id: string,
): { wallet: Address; clientId?: undefined } | { wallet?: undefined; clientId: string } {
  const parsed = parseAddress(id)
  return parsed.kind === 'address' ? { wallet: parsed.address } : { clientId: id }
}

export async function readOperators({ lists }: OperatorLists): Promise<Operator[]> {
  return lists.readList('operators')
}

/** Adds an operator, or changes the role. `accept` is called with the present operator and the present list, and its error stops the change. */
export async function setOperator(
  { lists }: OperatorLists,
  given: { id: string; role: OperatorRole; at: number },
  accept: (present: Operator | null, operators: readonly Operator[]) => void = () => {},
): Promise<OperatorOutcome> {
  const { id, role, at } = given
  return changeOperators(lists, (operators) => {
    const present = operators.find((operator) => operator.id === id) ?? null
    accept(present, operators)
    const operator = { id, role, createdAt: present?.createdAt ?? at }
    const changed = [...operators.filter((each) => each.id !== id), operator].sort((a, b) => (a.id < b.id ? -1 : 1))
    if (changed.length > OPERATORS_AT_MOST) return 'too_many'
    if (!hasOwner(changed)) return operators.length === 0 ? 'first_must_be_owner' : 'last_owner'
    return { changed, operator, isNew: present === null }
  })
}

export async function removeOperator(
  { lists }: OperatorLists,
  id: string,
  accept: (present: Operator, operators: readonly Operator[]) => void = () => {},
): Promise<OperatorOutcome> {
  return changeOperators(lists, (operators) => {
    const operator = operators.find((each) => each.id === id)
    if (!operator) return 'unknown'
    accept(operator, operators)
    const changed = operators.filter((each) => each !== operator)
    return hasOwner(changed) ? { changed, operator, isNew: false } : 'last_owner'
  })
}

type OperatorChange = { changed: Operator[]; operator: Operator; isNew: boolean }

async function changeOperators(
  lists: ListStore,
  change: (operators: Operator[]) => OperatorChange | OperatorRefusal,
): Promise<OperatorOutcome> {
  let outcome: OperatorOutcome = { kind: 'refused', why: 'unknown' }
  await lists.changeList('operators', (operators) => {
    const result = change(operators)
    if (typeof result === 'string') {
      outcome = { kind: 'refused', why: result }
      return operators
    }
    outcome = { kind: 'done', operator: result.operator, isNew: result.isNew }
    return result.changed
  })
  return outcome
}

function hasOwner(operators: readonly Operator[]): boolean {
  return operators.some(({ role }) => role === 'owner')
}
