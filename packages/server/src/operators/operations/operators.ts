/** The list of operators. Only owners change the list. */
import { OPERATOR_ROLES, type Operator, type OperatorRole } from '../../domain/model/records.ts'
import {
  OPERATORS_AT_MOST,
  type OperatorRefusal,
  operatorIdOf,
  readOperators,
  removeOperator as removeFromList,
  setOperator as setInList,
  walletOrClientOf,
} from '../../domain/operators/operators.ts'
import { type Members, membersOf } from '../members/member.ts'
import { operatorMembers, ROLE_WORDS } from '../members/operator-members.ts'
import { requireStillOwner } from './access.ts'
import { Type } from './json-schema.ts'
import { type Arrangement, arrangedRecords, arrangementMembers, type RecordNames } from './lists.ts'
import { defineOperation, displaysOf, type RecordKind, type Subject, timeDisplay } from './operation.ts'
import { conflict, invalid, notFound, type Refusal } from './refusal.ts'
import { nameSchema, recordSchema, refTo, time } from './schemas.ts'
import type { Act, Service } from './service.ts'
import { operationsOn } from './standard.ts'

const operatorKind: RecordKind = {
  name: 'operators',
  noun: 'operator',
  words: 'Who may use this API',
  schemas: [
    nameSchema(
      'Operator',
      recordSchema(operatorMembers, {
        operator: Type.String({ description: 'The address of a wallet, or a client id.' }),
        role: Type.Enum([...OPERATOR_ROLES]),
        created_at: time,
      }),
    ),
  ],
  scope: 'admin.operators',
  settings: 'clients',
  idName: 'operator',
  ids: {
    kind: 'wallet_or_client',
    words: 'The address of a wallet (0x and 40 hexadecimal digits), or the id of a registered client.',
  },
  displays: [...displaysOf(operatorMembers), timeDisplay('created_at', 'Added', { column: 'CREATED' })],
  empty: 'There is no operator yet: grantor operators add --help',
  lead: 'The wallets and programs that may use this console and the admin API. The list always contains an owner: the last owner can be neither removed nor given another role. An owner may do everything, an operator everything except change this list, and an auditor reads everything.',
}
const { list, remove, existing } = operationsOn(operatorKind)

function operatorRecord(operator: Operator) {
  return { ...membersOf(operatorMembers, operator), created_at: operator.createdAt }
}

const NAMES: RecordNames = { id: 'operator', texts: ['operator'], sorts: ['created_at', 'operator', 'role'] }

const listOperators = list<Arrangement>({
  summary: 'Lists the operators.',
  input: arrangementMembers('operator', 'address or id', NAMES.sorts),
  command: { about: 'The wallets and clients that may use the admin API.', examples: [''] },
  async run({ service, input }) {
    const records = (await readOperators(service.store)).map(operatorRecord)
    return { output: { items: arrangedRecords<Members>(records, input, NAMES) } }
  },
})

export const setOperator = defineOperation<{ role: OperatorRole }>({
  id: 'setOperator',
  subject: operatorKind.name,
  kind: 'set',
  verb: 'add',
  scope: operatorKind.scope,
  summary: 'Adds an operator, or changes the role.',
  description: 'The id is the address of a wallet or the id of a registered client.',
  input: [operatorMembers.role],
  refusals: ['changed_meanwhile', 'conflict'],
  answers: { done: 'The role was changed.', created: 'The operator was added.' },
  output: refTo(operatorKind.schemas[0]),
  command: {
    about: [
      'Roles: owner may do everything. operator may do everything except change operators. auditor may read everything and change nothing. The first operator must be an owner.',
      'A person signs in with the wallet. A program is a registered client that authenticates by private_key_jwt or uses DPoP, with the client credentials grant, the admin API as its resource, and the scopes that it needs.',
    ],
    examples: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --role owner', '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --role auditor'],
    done: ({ operator, role }: Members) => `${String(operator)} is ${String(role)} now.`,
  },
  page: {
    link: 'Change',
    button: 'Change the role',
    done: 'The operator has the role.',
  },
  async question({ service, id, input: { role } }) {
    const operators = await readOperators(service.store)
    const normal = operatorIdOf(id)
    const present = operators.find((operator) => operator.id === normal)
    if (present?.role === role) throw invalid([{ member: 'role', words: 'The operator has this role already.' }])
    if (!present)
      return {
        title: 'Add this operator?',
        effect: `It gives 1 more operator access: ${ROLE_WORDS[role]}.`,
        button: 'Add the operator',
      }
    return {
      title: 'Change this role?',
      effect: `It changes 1 operator from ${present.role} to ${role}: ${ROLE_WORDS[role]}. It holds from the next request on.`,
    }
  },
  async run({ service, actor, id: text, input: { role }, requireMatch }) {
    const id = await requireOperatorId(service, text)
    let before: OperatorRole | undefined
    const outcome = await setInList(service.store, { id, role, at: service.now() }, (present, operators) => {
      requireStillOwner(actor, operators)
      before = present?.role
      requireMatch(present && operatorRecord(present))
    })
    if (outcome.kind === 'refused') throw refusalOf(outcome.why, id)
    const record = operatorRecord(outcome.operator)
    const act: Act = {
      event: outcome.isNew ? 'operator_added' : 'operator_changed',
      ...objectOf(id),
      details: { role },
    }
    return { output: record, record, isNew: outcome.isNew, ...(before !== role && { act }) }
  },
})

export const removeOperator = remove({
  id: 'removeOperator',
  verb: 'remove',
  summary: 'Removes an operator.',
  description: 'Access ends with the next request. The last owner cannot be removed.',
  refusals: ['changed_meanwhile', 'conflict'],
  command: {
    about: 'Tokens and console sessions of the operator stop working with the next request. The last owner cannot be removed.',
    examples: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    done: (_output, { id }) => `${operatorIdOf(id)} is no operator any more.`,
  },
  page: {
    link: 'Remove',
    done: 'The operator was removed, and has no access from this moment on.',
  },
  async question({ service, actor, id }) {
    const operators = await readOperators(service.store)
    const found = operators.find((operator) => operator.id === id)
    const present = existing(found, id)
    const isLast = present.role === 'owner' && operators.filter(({ role }) => role === 'owner').length === 1
    return {
      effect: isLast
        ? 'This is the last owner, who cannot be removed. Make another operator an owner first.'
        : `It takes the access of 1 operator with the role ${present.role} away, from the next request on.`,
      notes: id === actor.id ? ['This is you: your session ends with it.'] : [],
    }
  },
  async run({ service, actor, id: text, requireMatch }) {
    const id = operatorIdOf(text) ?? text
    const outcome = await removeFromList(service.store, id, (present, operators) => {
      requireStillOwner(actor, operators)
      requireMatch(operatorRecord(present))
    })
    if (outcome.kind === 'refused') throw refusalOf(outcome.why, id)
    return { output: undefined, act: { event: 'operator_removed', ...objectOf(id) } }
  },
})

/** The id in its normalized form. Throws if a client id is not registered. */
async function requireOperatorId({ store }: Service, text: string): Promise<string> {
  const id = operatorIdOf(text)
  if (id === null)
    throw invalid([
      {
        member: 'operator',
        words:
          'An operator is the address of a wallet, 0x and 40 hexadecimal digits with the right checksum (EIP-55), or the id of a client.',
      },
    ])
  if (!id.startsWith('0x') && !(await store.clients.readClient(id))) throw notFound('clients', id)
  return id
}

/** The operator whom the act concerns. */
function objectOf(id: string): Pick<Act, 'wallet' | 'client_id'> {
  const { wallet, clientId } = walletOrClientOf(id)
  return wallet === undefined ? { client_id: clientId } : { wallet }
}

const REFUSALS = {
  too_many: `There are ${OPERATORS_AT_MOST} operators already.`,
  first_must_be_owner: 'The first operator must be an owner.',
  last_owner: 'The last owner can be neither removed nor given another role.',
} as const

function refusalOf(why: OperatorRefusal, id: string): Refusal {
  return why === 'unknown' ? notFound(operatorKind.name, id) : conflict(REFUSALS[why])
}

export const operators: Subject = { ...operatorKind, operations: [listOperators, setOperator, removeOperator] }
