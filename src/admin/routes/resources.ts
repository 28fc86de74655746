/** The registered resources. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { byKey, resourceMembers } from '../../domain/configuration/members.ts'
import { RESOURCES_AT_MOST } from '../../domain/model/operator-store.ts'
import type { Resource } from '../../domain/model/records.ts'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { resourceFaults } from '../../domain/resources/resource-faults.ts'
import { recordAct } from '../acts.ts'
import type { Admin } from '../admin.ts'
import { addOperation } from '../operation.ts'
import { requireMatch, sendRecord } from '../preconditions.ts'
import { notFound, Problem } from '../problem.ts'
import { etagOf, resourceRecord } from '../records.ts'
import { newResourceSchema, resourceChangesSchema, resourceSchema, uriParams } from '../schemas.ts'

const tag = 'resources'
/** The id of a resource is its URI, percent-encoded in the path. */
const PATH = '/v1/resources/:id'

export function resourceRoutes(server: FastifyInstance, admin: Admin): void {
  addListResources(server, admin)
  addCreateResource(server, admin)
  addGetResource(server, admin)
  addUpdateResource(server, admin)
  addDeleteResource(server, admin)
}

function addListResources(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/resources',
      id: 'listResources',
      tag,
      summary: 'Lists the registered resources.',
      scope: 'admin.read',
      answers: { 200: { description: 'All resources.', schema: Type.Object({ items: Type.Array(resourceSchema) }) } },
    },
    async () => ({ items: (await store.resources.listResources()).map(resourceRecord) }),
  )
}

function addCreateResource(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'POST',
      path: '/v1/resources',
      id: 'createResource',
      tag,
      summary: 'Registers a resource.',
      description: 'A request that is repeated with the same members has the same result.',
      scope: 'admin.clients',
      body: newResourceSchema,
      answers: {
        200: { description: 'The resource is registered already, with these members.', schema: resourceSchema },
        201: { description: 'The resource was registered.', schema: resourceSchema },
      },
      refusals: [409],
    },
    async ({ operator, body, reply }) => {
      const given = byKey(resourceMembers, body) as Partial<Resource> & Pick<Resource, 'uri'>
      const resource = { openTo: ['registered'], ...given, name: given.name?.trim(), createdAt: deps.now() } as Resource
      requireValid(admin, resource)
      const outcome = await store.resources.insertResource(resource)
      if (outcome === 'full') throw new Problem('conflict', `There are ${RESOURCES_AT_MOST} resources already.`)
      if (outcome === 'inserted') {
        recordAct(admin, operator, { event: 'resource_created', resource: resource.uri })
        return sendRecord(reply.code(201), resourceRecord(resource))
      }
      const present = await store.resources.readResource(resource.uri)
      const isSame =
        present && etagOf(resourceRecord({ ...present, createdAt: 0 })) === etagOf(resourceRecord({ ...resource, createdAt: 0 }))
      if (!isSame) throw new Problem('conflict', 'A resource with this URI is registered already.')
      return sendRecord(reply, resourceRecord(present))
    },
  )
}

function addGetResource(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: PATH,
      id: 'getResource',
      tag,
      summary: 'Reads a resource.',
      scope: 'admin.read',
      params: uriParams,
      answers: { 200: { description: 'The resource.', schema: resourceSchema } },
      refusals: [404],
    },
    async ({ params, reply }) => {
      const resource = await store.resources.readResource(params.id)
      if (!resource) throw notFound('resource')
      return sendRecord(reply, resourceRecord(resource))
    },
  )
}

function addUpdateResource(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'PATCH',
      path: PATH,
      id: 'updateResource',
      tag,
      summary: 'Changes a resource.',
      description: 'Members that are absent stay unchanged. A list replaces the whole list.',
      scope: 'admin.clients',
      params: uriParams,
      body: resourceChangesSchema,
      ifMatch: true,
      answers: { 200: { description: 'The changed resource.', schema: resourceSchema } },
      refusals: [404, 412],
    },
    async ({ operator, params, body, request, reply }) => {
      const changes = byKey(resourceMembers, body)
      const resource = await store.resources.changeResource(params.id, (present) => {
        requireMatch(request, resourceRecord(present))
        return requireValid(admin, { ...present, ...changes })
      })
      if (!resource) throw notFound('resource')
      recordAct(admin, operator, { event: 'resource_changed', resource: resource.uri })
      return sendRecord(reply, resourceRecord(resource))
    },
  )
}

function addDeleteResource(server: FastifyInstance, admin: Admin): void {
  const { store } = admin

  addOperation(
    server,
    admin,
    {
      method: 'DELETE',
      path: PATH,
      id: 'deleteResource',
      tag,
      summary: 'Removes a resource from the registry.',
      description: 'Access tokens that were issued stay valid until they expire.',
      scope: 'admin.clients',
      params: uriParams,
      answers: { 204: { description: 'The resource was removed.', schema: null } },
      refusals: [404],
    },
    async ({ operator, params }) => {
      if ((await store.resources.deleteResource(params.id)) === 'unknown') throw notFound('resource')
      recordAct(admin, operator, { event: 'resource_deleted', resource: params.id })
    },
  )
}

function requireValid({ adminUrl }: Admin, resource: Resource): Resource {
  const faults = resourceFaults(resource)
  if (resource.uri === adminResourceOf(adminUrl))
    faults.push('This is the URI of the admin API, which is no registered resource.')
  if (faults.length > 0) throw new Problem('invalid_request', 'The request has faults.', faults)
  return resource
}
