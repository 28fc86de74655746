/** The registered resources. */
import { RESOURCES_AT_MOST } from '../../domain/model/operator-store.ts'
import { CLIENT_KINDS, type Resource, type ResourceScope } from '../../domain/model/records.ts'
import { type ResourceFault, resourceFaults } from '../../domain/resources/resource-faults.ts'
import {
  byKey,
  changedNames,
  differences,
  givenAtChange,
  givenAtCreation,
  type Members,
  membersOf,
  namedFaults,
} from '../members/member.ts'
import { resourceMembers } from '../members/resource-members.ts'
import { Type } from './json-schema.ts'
import { type Arrangement, arrangedRecords, arrangementMembers, type RecordNames } from './lists.ts'
import { displaysOf, etagOf, type RecordKind, type Subject, timeDisplay, warningsDisplay } from './operation.ts'
import { conflict, invalid } from './refusal.ts'
import { nameSchema, recordSchema, refTo, time } from './schemas.ts'
import { resourceWarningsOf, type Service } from './service.ts'
import { operationsOn } from './standard.ts'
import { formatCount } from './words.ts'

const warnings = Type.Array(Type.String(), {
  description: 'Why the name could deceive users, one sentence each, if there are any.',
})

const resourceKind: RecordKind = {
  name: 'resources',
  noun: 'resource',
  words: 'Registered resources',
  schemas: [nameSchema('Resource', recordSchema(resourceMembers, { created_at: time, warnings: Type.Optional(warnings) }))],
  scope: 'admin.clients',
  settings: 'clients',
  idName: 'resource',
  ids: { kind: 'uri', words: 'The URI of the resource, from grantor resources list.' },
  displays: [
    ...displaysOf(resourceMembers),
    {
      label: 'Scopes',
      column: 'SCOPES',
      shown: ({ scopes }) => ({ words: (scopes as ResourceScope[]).map(({ name }) => name) }),
    },
    timeDisplay('created_at', 'Registered', { print: 'created', column: 'CREATED' }),
    warningsDisplay,
  ],
  empty: 'No resource is registered yet.',
  lead: 'The APIs for which tokens are issued.',
}
const { list, get, create, change, remove, existing } = operationsOn(resourceKind)

type ResourceRecord = ReturnType<typeof resourceRecord> & { warnings?: string[] }

function resourceRecord(resource: Resource) {
  return { ...membersOf(resourceMembers, resource), created_at: resource.createdAt }
}

/** The records with the warnings about their names. */
async function checkedRecords(service: Service, resources: readonly Resource[]): Promise<ResourceRecord[]> {
  const ofNames = await resourceWarningsOf(service, resources)
  return resources.map((resource, index) => {
    const ofName = ofNames[index] ?? []
    return { ...resourceRecord(resource), ...(ofName.length > 0 && { warnings: ofName }) }
  })
}

async function checkedRecord(service: Service, resource: Resource): Promise<ResourceRecord> {
  const [record = resourceRecord(resource)] = await checkedRecords(service, [resource])
  return record
}

/** The resource as it is stored: texts without outer spaces, and the kinds of clients in one order. */
export function resourceOf({ name = '', scopes = [], openTo = ['registered'], ...rest }: Partial<Resource>): Resource {
  return {
    uri: '',
    createdAt: 0,
    ...rest,
    name: name.trim(),
    scopes: scopes.map(({ name: scope, description, limit }) => ({
      name: scope,
      description: description.trim(),
      ...(limit !== undefined && { limit }),
    })),
    openTo: CLIENT_KINDS.filter((each) => openTo.includes(each)),
  }
}

const NAMES: RecordNames = { id: 'resource', texts: ['name', 'resource'], sorts: ['resource', 'name', 'created_at'] }

const listResources = list<Arrangement>({
  summary: 'Lists the registered resources.',
  input: arrangementMembers('resource', 'name or URI', NAMES.sorts),
  async run({ service, input }) {
    const records = await checkedRecords(service, await service.store.resources.listResources())
    return { output: { items: arrangedRecords<Members>(records, input, NAMES) } }
  },
})

export const createResource = create<Members, ResourceRecord>({
  summary: 'Registers a resource.',
  description: 'A request that is repeated with the same members has the same result.',
  input: givenAtCreation(resourceMembers),
  refusals: ['conflict'],
  answers: {
    done: 'The resource is registered already, with these members.',
    created: 'The resource was registered.',
  },
  output: refTo(resourceKind.schemas[0]),
  command: {
    about: [
      'A resource is an API for which the service issues access tokens. A registered resource has exactly the scopes that are named here, besides those of the service (openid, wallet, profile) and, for registered clients, those in GRANTOR_SCOPE_DESCRIPTIONS. Every other scope that is named here is granted only for the resources that name the scope. Clients that are not registered may request only registered resources that are open to them.',
      'Clients can be registered for a resource that is not in this registry: grantor clients create --resource.',
    ],
    examples: [
      'https://mcp.example.com/mcp --name "Notes" --scope "notes.read=read your notes" --scope "notes.write=change your notes" --open-to registered --open-to metadata',
    ],
    done: ({ name }: Members) => `Registered "${String(name)}".`,
    tokenFor: ({ resource }: Members) => String(resource),
  },
  page: {
    link: 'Register a resource',
    intro: 'An API for which tokens are issued.',
    button: 'Register the resource',
    done: 'The resource is registered.',
  },
  async question({ service, input }) {
    const [notes = []] = await resourceWarningsOf(service, [newResource(service, input)])
    return { title: 'Register this resource?', effect: 'It registers 1 resource. No grant changes.', notes }
  },
  async run({ service, actor, input }) {
    const resource = newResource(service, input)
    const outcome = await service.store.resources.insertResource(resource)
    if (outcome === 'full') throw conflict(`${RESOURCES_AT_MOST} resources are registered, which is the most.`, 'full')
    const record = await checkedRecord(service, resource)
    if (outcome === 'inserted')
      return { output: record, record, isNew: true, act: { event: 'resource_created', resource: resource.uri } }
    const present = await service.store.resources.readResource(resource.uri)
    const isSame = present && etagOf(resourceRecord({ ...present, createdAt: 0 })) === etagOf({ ...record, created_at: 0 })
    // A request can be repeated by a program. A command is typed.
    if (!isSame || actor.kind === 'command_line') throw conflict('A resource with this URI is registered already.', 'taken')
    const same = await checkedRecord(service, present)
    return { output: same, record: same }
  },
})

const getResource = get({
  command: { examples: ['https://mcp.example.com/mcp'] },
  async run({ service, id }) {
    const record = await checkedRecord(service, await readResource(service, id))
    return { output: record, record }
  },
})

export const updateResource = change({
  summary: 'Changes a resource.',
  description: 'Members that are absent stay unchanged. A list replaces the whole list.',
  input: givenAtChange(resourceMembers),
  command: {
    about:
      'Properties that are not named stay unchanged. A repeatable option replaces the whole list: to add a scope, name the present ones too. The running service applies the change within a second. New access tokens, also those of existing grants, no longer have a scope that was removed. Existing grants never get a scope that was added: the user must sign in again.',
    examples: [
      'https://mcp.example.com/mcp --open-to registered --open-to metadata',
      'https://mcp.example.com/mcp --scope "notes.read=read your notes"',
    ],
  },
  async question({ service, id, input }) {
    const changed = changedResource(service, await readResource(service, id), input)
    const [ofName = []] = await resourceWarningsOf(service, [changed])
    return {
      effect: `It changes ${formatCount(Object.keys(input).length, 'setting')}. It ends 0 grants.`,
      notes: ['A scope that is removed is missing in the next token of each grant.', ...ofName],
    }
  },
  async run({ service, id, input, requireMatch }) {
    let before: Resource | undefined
    const changed = await service.store.resources.changeResource(id, (present) => {
      requireMatch(resourceRecord(present))
      before = present
      return changedResource(service, present, input)
    })
    const after = existing(changed, id)
    const changes = differences(resourceMembers, before ?? after, after)
    const act = { event: 'resource_changed', resource: id, details: changedNames(changes) } as const
    const record = await checkedRecord(service, after)
    return { output: record, record, ...(changes.length > 0 && { act }) }
  },
})

export const deleteResource = remove({
  summary: 'Removes a resource from the registry.',
  description: 'Access tokens that were issued stay valid until they expire.',
  command: {
    about:
      'Clients that are not registered get no new tokens for the resource. Registered clients that list the resource keep it, as they do a resource that was never registered: to refuse all clients, use grantor resources update --closed. Access tokens that were issued stay valid until they expire. --yes or an answer at the terminal is required.',
    examples: ['https://mcp.example.com/mcp --yes'],
    isConfirmed: true,
    done: (_output, { id }) => `Deleted ${id}.`,
    json: (_output, { id }) => ({ resource: id }),
  },
  async question({ service, id }) {
    const { name, scopes } = await readResource(service, id)
    return {
      title: `Delete ${name}?`,
      effect: `It removes 1 resource with ${formatCount(scopes.length, 'scope')}. It ends 0 grants.`,
      notes: ['Access tokens that were issued stay valid until they expire. No new ones are issued for this resource.'],
    }
  },
  async run({ service, id, requireMatch }) {
    const { resources } = service.store
    // No client may request the resource from the moment at which it was compared, so the deletion takes effect in one step.
    const closed = await resources.changeResource(id, (present) => {
      requireMatch(resourceRecord(present))
      return { ...present, openTo: [] }
    })
    if (closed === null || (await resources.deleteResource(id)) === 'unknown') existing(null, id)
    return { output: undefined, act: { event: 'resource_deleted', resource: id } }
  },
})

async function readResource({ store }: Service, id: string): Promise<Resource> {
  return existing(await store.resources.readResource(id), id)
}

function newResource(service: Service, input: Members): Resource {
  const given = resourceOf({ ...byKey(resourceMembers, input), createdAt: service.now() })
  return requireValid(service, given, 'This resource cannot be registered.')
}

function changedResource(service: Service, present: Resource, input: Members): Resource {
  return requireValid(service, resourceOf({ ...present, ...byKey(resourceMembers, input) }), 'This change cannot be made.')
}

/** The faults of a resource. The service itself has the resource of the admin API, so a registration of that URI would have no effect. */
export function faultsOf({ adminResource }: Service, resource: Resource): ResourceFault[] {
  const faults = resourceFaults(resource)
  return resource.uri === adminResource
    ? [...faults, { member: 'uri', words: 'This is the URI of the admin API, which is no registered resource.' }]
    : faults
}

function requireValid(service: Service, resource: Resource, message: string): Resource {
  const faults = faultsOf(service, resource)
  if (faults.length > 0) throw invalid(namedFaults(resourceMembers, faults), message)
  return resource
}

export const resources: Subject = {
  ...resourceKind,
  operations: [listResources, createResource, getResource, updateResource, deleteResource],
}
