/** The members of an operator. */
import { OPERATOR_ROLES, type Operator } from '../../domain/model/records.ts'
import type { RecordMembers } from './member.ts'

export const ROLE_WORDS: Readonly<Record<string, string>> = {
  owner: 'everything, and decides who operates the service',
  operator: 'everything except the list of operators',
  auditor: 'reads everything, changes nothing',
}

export const operatorMembers = {
  id: {
    name: 'operator',
    shape: { kind: 'text' },
    required: true,
    isFixed: true,
    label: 'Operator',
    column: 'OPERATOR',
    option: {
      value: 'OPERATOR',
      isOperand: true,
      words: 'The address of a wallet (0x and 40 hexadecimal digits), or the id of a registered client.',
    },
  },
  role: {
    name: 'role',
    shape: { kind: 'text', choices: OPERATOR_ROLES },
    required: true,
    label: 'Role',
    column: 'ROLE',
    choices: Object.fromEntries(OPERATOR_ROLES.map((role) => [role, `${role}: ${ROLE_WORDS[role]}`])),
    option: { value: 'ROLE', words: 'owner, operator or auditor.' },
  },
} as const satisfies RecordMembers<Exclude<keyof Operator, 'createdAt'>>
