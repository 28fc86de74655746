import { OPERATOR_ROLES } from '../../domain/model/records.ts'
import type { Field } from '../../pages/console/form-page.ts'
import { type OperatorView, operatorsPage, ROLE_WORDS } from '../../pages/console/operators-page.ts'
import { notFound } from '../problem.ts'
import type { operatorRecord } from '../records.ts'
import { addChange, addPage, type Console, type Visit } from './console.ts'
import type { Fields } from './form.ts'
import { namesOfClients } from './names.ts'

type OperatorRecord = ReturnType<typeof operatorRecord>

const DONE: Readonly<Record<string, string>> = {
  added: 'The operator was added.',
  changed: 'The role was changed.',
  removed: 'The operator was removed, and has no access from this moment on.',
}
const PLACE = '/console/operators'
const apiPath = (id: string): string => `/v1/operators/${encodeURIComponent(id)}`

async function readOperators({ api }: Visit): Promise<OperatorRecord[]> {
  return (await api<{ items: OperatorRecord[] }>('GET', '/v1/operators')).body.items
}

async function findOperator(visit: Visit): Promise<OperatorRecord> {
  const found = (await readOperators(visit)).find(({ operator }) => operator === visit.params.id)
  if (!found) throw notFound('operator')
  return found
}

export function operatorPages(console: Console): void {
  addPage(console, PLACE, async (visit) => {
    const records = await readOperators(visit)
    const clients = records.map(({ operator }) => operator).filter((id) => !id.startsWith('0x'))
    const names = await namesOfClients(console.admin, clients)
    const operators = records.map(
      ({ operator: id, role, created_at: createdAt }): OperatorView => ({
        id,
        role,
        createdAt,
        clientName: names.get(id) ?? null,
      }),
    )
    const done = DONE[visit.query.text('done')]
    return operatorsPage({ frame: visit.frame, operators, mayChange: visit.may('admin.operators'), done })
  })
  addOperatorAddition(console)
  addRoleChange(console)
  addRemoval(console)
}

function roleField(value: string): Field {
  const choices = OPERATOR_ROLES.map((role) => ({ value: role, label: `${role}: ${ROLE_WORDS[role]}` }))
  return { kind: 'choice', name: 'role', label: 'Role', value, choices }
}

function addOperatorAddition(console: Console): void {
  addChange(console, {
    path: `${PLACE}/new`,
    scope: 'admin.operators',
    form: async (_visit: Visit, entered: Fields | null) => ({
      title: 'Add an operator',
      intro: 'A wallet, or a client that authenticates with a private key.',
      fields: [
        { kind: 'text', name: 'operator', label: 'Address or client id', value: entered?.text('operator') ?? '' },
        roleField(entered?.text('role') ?? 'auditor'),
      ],
      button: 'Continue',
      back: PLACE,
    }),
    async question(visit, entered) {
      const id = entered.text('operator')
      const role = entered.text('role')
      if (id === '') return { faults: ['Enter the address of a wallet, or a client id.'] }
      const present = (await readOperators(visit)).find(({ operator }) => operator.toLowerCase() === id.toLowerCase())
      if (present) return { faults: [`This operator is in the list already, as ${present.role}.`] }
      return {
        title: 'Add this operator?',
        effect: `It gives 1 more operator access: ${ROLE_WORDS[role] ?? role}.`,
        facts: [
          ['Operator', id],
          ['Role', role],
        ],
        button: 'Add the operator',
        back: PLACE,
      }
    },
    async carryOut({ api }, confirmed) {
      await api('PUT', apiPath(confirmed.text('operator')), { body: { role: confirmed.text('role') } })
      return { path: `${PLACE}?done=added` }
    },
  })
}

function addRoleChange(console: Console): void {
  addChange(console, {
    path: `${PLACE}/:id/change`,
    scope: 'admin.operators',
    async form(visit, entered) {
      const { operator, role } = await findOperator(visit)
      return {
        title: 'Change the role',
        intro: operator,
        fields: [roleField(entered?.text('role') ?? role)],
        button: 'Continue',
        back: PLACE,
      }
    },
    async question(visit, entered) {
      const present = await findOperator(visit)
      const role = entered.text('role')
      if (role === present.role) return { faults: ['The operator has this role already.'] }
      return {
        title: 'Change this role?',
        effect: `It changes 1 operator from ${present.role} to ${role}: ${ROLE_WORDS[role] ?? ''}. It holds from the next request on.`,
        facts: [['Operator', present.operator]],
        button: 'Change the role',
        back: PLACE,
      }
    },
    async carryOut({ api, params }, confirmed) {
      await api('PUT', apiPath(params.id ?? ''), { body: { role: confirmed.text('role') } })
      return { path: `${PLACE}?done=changed` }
    },
  })
}

function addRemoval(console: Console): void {
  addChange(console, {
    path: `${PLACE}/:id/remove`,
    scope: 'admin.operators',
    async question(visit) {
      const { operator, role } = await findOperator(visit)
      const owners = (await readOperators(visit)).filter((each) => each.role === 'owner').length
      const isLast = role === 'owner' && owners === 1
      return {
        title: 'Remove this operator?',
        effect: isLast
          ? 'This is the last owner, who cannot be removed. Make another operator an owner first.'
          : 'It takes the access of 1 operator away, from the next request on.',
        notes: operator === visit.frame.operator.id ? ['This is you: your session ends with it.'] : [],
        facts: [
          ['Operator', operator],
          ['Role', role],
        ],
        button: 'Remove the operator',
        tone: 'danger',
        back: PLACE,
      }
    },
    async carryOut({ api, params }) {
      await api('DELETE', apiPath(params.id ?? ''))
      return { path: `${PLACE}?done=removed` }
    },
  })
}
