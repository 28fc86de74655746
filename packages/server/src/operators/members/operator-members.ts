/** The members of an operator. */
import { OPERATOR_ROLES, type Operator } from '../../domain/model/records.ts'
import { type RecordMembers, text } from './member.ts'

export const ROLE_WORDS: Readonly<Record<string, string>> = {
  owner: 'everything, and decides who operates the service',
  operator: 'everything except the list of operators',
  auditor: 'reads everything, changes nothing',
}

export const operatorMembers = {
  id: text('operator', 'Operator', { required: true, isFixed: true, column: 'OPERATOR' }),
  role: text('role', 'Role', {
    values: OPERATOR_ROLES,
    required: true,
    column: 'ROLE',
    choices: Object.fromEntries(OPERATOR_ROLES.map((role) => [role, `${role}: ${ROLE_WORDS[role]}`])),
    option: { value: 'ROLE', words: 'owner, operator or auditor.' },
  }),
} as const satisfies RecordMembers<Exclude<keyof Operator, 'createdAt'>>
