/** The list of operators. Only owners change the list. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Operator } from '../../domain/model/records.ts'
import {
  OPERATORS_AT_MOST,
  type OperatorRefusal,
  operatorIdOf,
  readOperators,
  removeOperator,
  setOperator,
  walletOrClientOf,
} from '../../domain/operators/operators.ts'
import { roleAllows } from '../../domain/operators/roles.ts'
import { insufficientScope } from '../../oauth/oauth-error.ts'
import type { Address } from '../../wallet/address.ts'
import { recordAct } from '../acts.ts'
import type { Admin } from '../admin.ts'
import { addOperation } from '../operation.ts'
import { requireMatch, sendRecord } from '../preconditions.ts'
import { notFound, Problem } from '../problem.ts'
import { operatorRecord } from '../records.ts'
import { idParams, operatorSchema, roleSchema } from '../schemas.ts'

const tag = 'operators'

export function operatorRoutes(server: FastifyInstance, admin: Admin): void {
  addListOperators(server, admin)
  addSetOperator(server, admin)
  addRemoveOperator(server, admin)
}

function addListOperators(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/operators',
      id: 'listOperators',
      tag,
      summary: 'Lists the operators.',
      scope: 'admin.read',
      answers: { 200: { description: 'All operators.', schema: Type.Object({ items: Type.Array(operatorSchema) }) } },
    },
    async () => ({ items: (await readOperators(store)).map(operatorRecord) }),
  )
}

function addSetOperator(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'PUT',
      path: '/v1/operators/:id',
      id: 'setOperator',
      tag,
      summary: 'Adds an operator, or changes the role.',
      description: 'The id is the address of a wallet or the id of a registered client.',
      scope: 'admin.operators',
      params: idParams,
      body: roleSchema,
      ifMatch: true,
      answers: {
        200: { description: 'The role was changed.', schema: operatorSchema },
        201: { description: 'The operator was added.', schema: operatorSchema },
      },
      refusals: [404, 409, 412],
    },
    async ({ operator: caller, params, body, request, reply }) => {
      const id = await readOperatorId(admin, params.id)
      const outcome = await setOperator(store, { id, role: body.role, at: deps.now() }, (present, operators) => {
        requireStillOwner(caller, operators)
        if (present) requireMatch(request, operatorRecord(present))
      })
      if (outcome.kind === 'refused') throw refusalOf(outcome.why)
      recordAct(admin, caller, { event: outcome.isNew ? 'operator_added' : 'operator_changed', ...membersOfEvent(id) })
      return sendRecord(reply.code(outcome.isNew ? 201 : 200), operatorRecord(outcome.operator))
    },
  )
}

function addRemoveOperator(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'DELETE',
      path: '/v1/operators/:id',
      id: 'removeOperator',
      tag,
      summary: 'Removes an operator.',
      description: 'Access ends with the next request. The last owner cannot be removed.',
      scope: 'admin.operators',
      params: idParams,
      ifMatch: true,
      answers: { 204: { description: 'The operator was removed.', schema: null } },
      refusals: [404, 409, 412],
    },
    async ({ operator: caller, params, request }) => {
      const id = operatorIdOf(params.id) ?? params.id
      const outcome = await removeOperator(store, id, (present, operators) => {
        requireStillOwner(caller, operators)
        requireMatch(request, operatorRecord(present))
      })
      if (outcome.kind === 'refused') throw refusalOf(outcome.why)
      recordAct(admin, caller, { event: 'operator_removed', ...membersOfEvent(id) })
    },
  )
}

/** The id in its normalized form. Throws if a client id is not registered. */
async function readOperatorId({ store }: Admin, text: string): Promise<string> {
  const id = operatorIdOf(text)
  if (id === null) throw new Problem('invalid_request', 'The request has faults.', ['id is neither an address nor a client id.'])
  if (!id.startsWith('0x') && !(await store.clients.readClient(id))) throw notFound('client')
  return id
}

/** The caller may have been removed since the request was checked. */
function requireStillOwner({ id: callerId }: Operator, operators: readonly Operator[]): void {
  const isAllowed = operators.some(({ id, role }) => id === callerId && roleAllows(role, 'admin.operators'))
  if (!isAllowed) throw insufficientScope('role_not_sufficient')
}

/** The operator whom the act concerns, as members of an audit event. */
function membersOfEvent(id: string): { wallet: Address } | { client_id: string } {
  const { wallet, clientId } = walletOrClientOf(id)
  return wallet === undefined ? { client_id: clientId } : { wallet }
}

function refusalOf(why: OperatorRefusal): Problem {
  switch (why) {
    case 'unknown':
      return notFound('operator')
    case 'too_many':
      return new Problem('conflict', `There are ${OPERATORS_AT_MOST} operators already.`)
    default:
      return new Problem('conflict', 'The last owner can be neither removed nor given another role.')
  }
}
