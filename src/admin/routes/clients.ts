/** The registered clients. */
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { OperatorEvent } from '../../domain/audit/operator-acts.ts'
import { createClientOnce } from '../../domain/clients/idempotent-client.ts'
import { createClient, rotateSecret, updateClient } from '../../domain/clients/manage-clients.ts'
import type { ClientRegistration } from '../../domain/clients/register-client.ts'
import { SEARCHED_AT_MOST, searchClients } from '../../domain/clients/search-clients.ts'
import { byKey, clientMembers } from '../../domain/configuration/members.ts'
import type { Client, Job, Operator } from '../../domain/model/records.ts'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { addJob } from '../../domain/operators/jobs.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { recordAct } from '../acts.ts'
import type { Admin } from '../admin.ts'
import { addOperation, type Call } from '../operation.ts'
import { createPaging } from '../paging.ts'
import { requireMatch, sendRecord } from '../preconditions.ts'
import { notFound, Problem } from '../problem.ts'
import { clientRecord, jobRecord } from '../records.ts'
import {
  clientChangesSchema,
  clientSchema,
  createdClientSchema,
  idParams,
  jobSchema,
  newClientSchema,
  pageOf,
  pageQuery,
  rotationSchema,
  shownClientSchema,
} from '../schemas.ts'

const tag = 'clients'
const PATH = '/v1/clients/:id'
/** Counting stops at this number, because counting more grants takes long. */
export const COUNTED_AT_MOST = 10_000
const A_DAY = 86_400

type ResourcesOfClient = Pick<ClientRegistration, 'resources' | 'exchangeResources' | 'resourceServer'>

export function clientRoutes(server: FastifyInstance, admin: Admin): void {
  addListClients(server, admin)
  addCreateClient(server, admin)
  addGetClient(server, admin)
  addUpdateClient(server, admin)
  addRotateClientSecret(server, admin)
  addDeleteClient(server, admin)
  addEndGrantsOfClient(server, admin)
}

function addListClients(server: FastifyInstance, admin: Admin): void {
  const page = createPaging<{ id: string }>(admin, 'clients')

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/clients',
      id: 'listClients',
      tag,
      summary: 'Lists the registered clients, sorted by id.',
      scope: 'admin.read',
      query: Type.Object(
        {
          search: Type.Optional(
            Type.String({ minLength: 1, maxLength: 100, description: 'Only clients whose name or id contains this text.' }),
          ),
          ...pageQuery,
        },
        { additionalProperties: false },
      ),
      answers: { 200: { description: 'A page of clients.', schema: pageOf(clientSchema) } },
      refusals: [409],
    },
    async ({ query }) => {
      const { items, next } = await page(
        query,
        (limit, after) => readClients(admin, query.search, { after: after?.id ?? '', limit }),
        ({ id }) => ({ id }),
      )
      return { items: items.map(clientRecord), next }
    },
  )
}

function addCreateClient(server: FastifyInstance, admin: Admin): void {
  addOperation(
    server,
    admin,
    {
      method: 'POST',
      path: '/v1/clients',
      id: 'createClient',
      tag,
      summary: 'Registers a client.',
      description: 'The client secret is in this answer only. With an Idempotency-Key a repeated request gets the same answer.',
      scope: 'admin.clients',
      body: newClientSchema,
      idempotencyKey: true,
      answers: {
        200: { description: 'The request was repeated: the client was registered before.', schema: createdClientSchema },
        201: { description: 'The client was registered.', schema: createdClientSchema },
      },
    },
    async ({ operator, body, request, reply }) => {
      const given = byKey(clientMembers, body)
      const registration = { type: 'confidential', redirectUris: [], ...given } as unknown as ClientRegistration
      requireOwnerFor(admin, operator, registration)
      const created = await register(admin, registration, { operator, request })
      if (created.kind === 'faults') throw new Problem('invalid_request', 'This client cannot be registered.', created.faults)
      if (created.kind === 'key_reused')
        throw new Problem('idempotency_key_reused', 'The Idempotency-Key was used for another client, or this one was changed.')
      const { client, secret, isNew } = created
      if (isNew) recordAct(admin, operator, { event: 'client_created', client_id: client.id })
      return sendRecord(reply.code(isNew ? 201 : 200), clientRecord(client), {
        client: clientRecord(client),
        client_secret: secret,
      })
    },
  )
}

function addGetClient(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: PATH,
      id: 'getClient',
      tag,
      summary: 'Reads a client.',
      scope: 'admin.read',
      params: idParams,
      answers: { 200: { description: 'The client.', schema: shownClientSchema } },
      refusals: [404],
    },
    async ({ params, reply }) => {
      const client = await store.clients.readClient(params.id)
      if (!client) throw notFound('client')
      const unended = await store.grants.countUnendedGrants({ clientId: client.id }, COUNTED_AT_MOST)
      return sendRecord(reply, clientRecord(client), { client: clientRecord(client), unended_grants: unended })
    },
  )
}

function addUpdateClient(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'PATCH',
      path: PATH,
      id: 'updateClient',
      tag,
      summary: 'Changes a client.',
      description:
        'Members that are absent stay unchanged. A list replaces the whole list. `disabled` stops the client until it is enabled again; its grants are kept.',
      scope: 'admin.clients',
      params: idParams,
      body: clientChangesSchema,
      ifMatch: true,
      answers: { 200: { description: 'The changed client.', schema: clientSchema } },
      refusals: [404, 412],
    },
    async ({ operator, params, body, request, reply }) => {
      const at = deps.now()
      const { disabledAt: disabled, ...given } = byKey(clientMembers, body)
      const changes = given as Partial<Client>
      requireOwnerFor(admin, operator, changes)
      await requireOwnerIfOperator(admin, operator, params.id)
      const changesOf = (present: Client): Partial<Client> => {
        requireMatch(request, clientRecord(present))
        requireOwnerFor(admin, operator, present)
        const disabledAt = disabled === true ? (present.disabledAt ?? at) : null
        return disabled === undefined ? changes : { ...changes, disabledAt }
      }
      const outcome = await updateClient(store, params.id, changesOf, at)
      if (outcome.kind === 'unknown') throw notFound('client')
      if (outcome.kind === 'faults') throw new Problem('invalid_request', 'This change cannot be made.', outcome.faults)
      recordAct(admin, operator, { event: eventOf(disabled, changes), client_id: params.id })
      return sendRecord(reply, clientRecord(outcome.client))
    },
  )
}

function addRotateClientSecret(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'POST',
      path: `${PATH}/secrets`,
      id: 'rotateClientSecret',
      tag,
      summary: 'Gives a client a new secret.',
      description:
        'The secret is in this answer only. The present secret stays valid for `overlap` seconds; 0 for a secret that leaked.',
      scope: 'admin.clients',
      params: idParams,
      body: rotationSchema,
      ifMatch: true,
      answers: { 201: { description: 'The client and its new secret.', schema: createdClientSchema } },
      refusals: [404, 409, 412],
    },
    async ({ operator, params, body, request, reply }) => {
      await requireOwnerIfOperator(admin, operator, params.id)
      const accept = (present: Client): void => {
        requireMatch(request, clientRecord(present))
        requireOwnerFor(admin, operator, present)
      }
      const outcome = await rotateSecret(store, params.id, { overlap: body.overlap ?? A_DAY, at: deps.now(), accept })
      if (outcome.kind === 'unknown') throw notFound('client')
      if (outcome.kind === 'has_no_secret') throw new Problem('conflict', `There is no secret: ${outcome.because}.`)
      const { client, secret } = outcome
      recordAct(admin, operator, { event: 'client_secret_rotated', client_id: client.id })
      return sendRecord(reply.code(201), clientRecord(client), { client: clientRecord(client), client_secret: secret })
    },
  )
}

function addDeleteClient(server: FastifyInstance, admin: Admin): void {
  addJobOperation(server, admin, {
    method: 'DELETE',
    path: PATH,
    id: 'deleteClient',
    kind: 'delete_client',
    summary: 'Deletes a client permanently and ends its grants.',
    description: 'The client is disabled at once. The job ends its grants and then removes the client.',
    scope: 'admin.clients',
    event: 'client_deletion_started',
  })
}

function addEndGrantsOfClient(server: FastifyInstance, admin: Admin): void {
  addJobOperation(server, admin, {
    method: 'POST',
    path: `${PATH}/end-grants`,
    id: 'endGrantsOfClient',
    kind: 'end_grants_of_client',
    summary: 'Ends all grants of a client.',
    description: 'The client itself stays as it is.',
    scope: 'admin.grants',
    event: 'ending_of_grants_started',
  })
}

type JobOperation = {
  method: 'DELETE' | 'POST'
  path: string
  id: string
  kind: Job['kind']
  summary: string
  description: string
  scope: 'admin.clients' | 'admin.grants'
  event: OperatorEvent
}

function addJobOperation(server: FastifyInstance, admin: Admin, { kind, event, ...definition }: JobOperation): void {
  const { store, deps } = admin
  const answers = { 202: { description: 'The job, which goes on without the caller.', schema: jobSchema } }
  addOperation(
    server,
    admin,
    { ...definition, tag, params: idParams, ifMatch: true, answers, refusals: [404, 409, 412] },
    async ({ operator, params, request, reply }) => {
      const client = await store.clients.readClient(params.id)
      if (!client) throw notFound('client')
      requireMatch(request, clientRecord(client))
      if (kind === 'delete_client') {
        requireOwnerFor(admin, operator, client)
        await requireOwnerIfOperator(admin, operator, client.id)
      }
      const job = await addJob(store, { kind, clientId: client.id, startedBy: operator.id }, deps.now())
      if (job === null) throw new Problem('conflict', 'Too many jobs are under way. Wait until one is done.')
      if (kind === 'delete_client')
        await store.clients.changeClient(client.id, (present) => ({ ...present, disabledAt: present.disabledAt ?? deps.now() }))
      recordAct(admin, operator, { event, client_id: client.id })
      return reply.code(202).header('location', `/v1/jobs/${job.id}`).send(jobRecord(job))
    },
  )
}

type ClientPage = { after: string; limit: number }

async function readClients({ store }: Admin, search: string | undefined, page: ClientPage): Promise<Client[]> {
  if (search === undefined) return store.clients.readClients(page)
  const found = await searchClients(store, search, page)
  if (found !== 'too_many') return found
  throw new Problem('conflict', `The search stopped after ${SEARCHED_AT_MOST} clients. Search for the whole client id.`)
}

type Caller = Pick<Call<TSchema, TSchema, TSchema>, 'operator' | 'request'>

async function register({ store, deps }: Admin, registration: ClientRegistration, { operator, request }: Caller) {
  const key = request.headers['idempotency-key']
  const at = deps.now()
  if (typeof key === 'string')
    return createClientOnce(store, deps.keys, { registration, at, idempotency: { key, callerId: operator.id } })
  const created = await createClient(store, registration, at)
  return created.kind === 'faults' ? created : { ...created, isNew: true }
}

/**
 * A client for the admin API can act for an owner who signs in to the client. So can a client that exchanges the token of another app for one
 * of the admin API. The resource server of the admin API can introspect the tokens of owners. So only owners decide about such clients.
 */
function requireOwnerFor({ adminUrl }: Admin, { role }: Operator, client: ResourcesOfClient): void {
  const { resources = [], exchangeResources = [], resourceServer } = client
  if (role !== 'owner' && [...resources, ...exchangeResources, resourceServer].includes(adminResourceOf(adminUrl)))
    throw new Problem('forbidden', 'Only an owner may create or change a client of the admin API.')
}

/** A caller who can replace the keys or the secret of a client that is an operator could act with the role of that client. */
async function requireOwnerIfOperator({ store }: Admin, { role }: Operator, clientId: string): Promise<void> {
  if (role !== 'owner' && (await readOperators(store)).some(({ id }) => id === clientId))
    throw new Problem('forbidden', 'Only an owner may change a client that is an operator.')
}

function eventOf(disabled: unknown, changes: Partial<Client>): OperatorEvent {
  if (disabled === undefined || Object.keys(changes).length > 0) return 'client_changed'
  return disabled === true ? 'client_disabled' : 'client_enabled'
}
