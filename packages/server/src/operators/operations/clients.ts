/** The registered clients. */

import { CLIENT_LOGO, type Logo, readLogoUri } from '../../config/look/logo.ts'
import { setClientLogo as storeLogo } from '../../domain/clients/client-logo.ts'
import { CLIENTS_IN_TABLE, type ClientRow, readClientTable } from '../../domain/clients/client-table.ts'
import { createClientOnce } from '../../domain/clients/idempotent-client.ts'
import { rotateSecret, updateClient as storeChanges, createClient as storeClient } from '../../domain/clients/manage-clients.ts'
import { type ClientRegistration, hasSecret, registerClient } from '../../domain/clients/register-client.ts'
import { searchClients } from '../../domain/clients/search-clients.ts'
import type { ActName } from '../../domain/model/audit-events.ts'
import type { Client, ClientAuthMethod } from '../../domain/model/records.ts'
import type { NewJob } from '../../domain/operators/jobs.ts'
import { clientMembers } from '../members/client-members.ts'
import {
  byKey,
  changedNames,
  differences,
  givenAtChange,
  givenAtCreation,
  type MemberChange,
  type Members,
  membersOf,
  namedFaults,
  type Shown,
} from '../members/member.ts'
import { requireOwnerFor, requireOwnerIfOperator } from './access.ts'
import { jobRecord, jobs } from './jobs.ts'
import { Type } from './json-schema.ts'
import {
  type Arrangement,
  arrangeItems,
  arrangementMembers,
  filterMember,
  pageOfArranged,
  type Sorted,
  type SortPlace,
} from './lists.ts'
import {
  type Call,
  displaysOf,
  type Listed,
  type PageRequest,
  type RecordKind,
  type Result,
  readPage,
  type Subject,
  timeDisplay,
  warningsDisplay,
} from './operation.ts'
import { conflict, invalid, notFound, Refusal } from './refusal.ts'
import { fieldsOf, nameSchema, recordSchema, refTo, time, timeOrNull, uuid } from './schemas.ts'
import { nameWarningsOf, type Service, warningsOf } from './service.ts'
import { type Setup, setupOf } from './setup.ts'
import { operationsOn } from './standard.ts'
import { capitalise, formatCount, number, utc } from './words.ts'

/** Counting stops at this number, because counting more grants takes long. */
export const COUNTED_AT_MOST = 10_000
const A_DAY = 86_400
const THIRTY_DAYS = 2_592_000

const EXAMPLE = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'

const fields = fieldsOf<Client>()({
  client_id: [uuid, ({ id }) => id],
  secrets: [
    Type.Array(Type.Object({ expires_at: timeOrNull }), {
      description: 'The secrets that are valid, without the secrets themselves.',
    }),
    ({ secrets }) => secrets.map(({ expiresAt }) => ({ expires_at: expiresAt })),
  ],
  created_at: [time, ({ createdAt }) => createdAt],
  disabled_at: [timeOrNull, ({ disabledAt }) => disabledAt],
})
const warnings = Type.Array(Type.String(), {
  description:
    'What may not work for some users, or deceive them, one sentence each. Lists have those about names only, if there are any.',
})

const clientKind: RecordKind = {
  name: 'clients',
  noun: 'client',
  words: 'Registered clients',
  schemas: [nameSchema('Client', recordSchema(clientMembers, { ...fields.schemas, warnings: Type.Optional(warnings) }))],
  scope: 'admin.clients',
  settings: 'clients',
  idName: 'client_id',
  displays: [
    ...displaysOf(clientMembers),
    {
      label: 'Grants',
      print: 'grants',
      shown: ({ unended_grants: count }) =>
        typeof count === 'number' ? `${formatCount(count, 'grant', COUNTED_AT_MOST)} not ended` : null,
    },
    { label: 'Secrets', print: 'secrets', part: 'Security', shown: ({ secrets }) => secretsShown(secrets) },
    timeDisplay('created_at', 'Registered', { print: 'created', column: 'CREATED' }),
    { label: 'State', print: 'state', column: 'STATE', shown: stateOf },
    warningsDisplay,
  ],
  empty: 'No client is registered yet.',
  lead: 'The apps that sign users in, and the APIs that check tokens.',
}
const { list, get, create, change, act, remove, existing } = operationsOn(clientKind)
const [clientSchema] = clientKind.schemas

const createdSchema = Type.Object({
  client: refTo(clientSchema),
  client_secret: Type.Union([Type.String(), Type.Null()], {
    description: 'Sent once, never stored. Null for a client without a secret.',
  }),
})

/** The record contains no secret and no hash of a secret. */
function clientRecord(client: Client): ClientRecord {
  return { ...membersOf(clientMembers, client), ...fields.read(client) }
}

/** The record with its warnings. */
async function checkedRecord(service: Service, client: Client): Promise<CheckedRecord> {
  return { ...clientRecord(client), warnings: await warningsOf(service, client) }
}

type ClientRecord = Members & ReturnType<typeof fields.read>
type CheckedRecord = ClientRecord & { warnings: readonly string[] }

export type CreatedClient = { client: CheckedRecord; client_secret: string | null }

const SORTED: Sorted<ClientRow> = {
  id: ({ id }) => id,
  texts: ({ id, name }) => [name, id],
  sorts: { client_id: ({ id }) => id, name: ({ name }) => name, created_at: ({ createdAt }) => createdAt },
}

type ClientFilter = Arrangement & { type?: Client['type']; state?: 'enabled' | 'disabled' }

const listClients = list<ClientFilter>({
  summary: 'Lists the registered clients.',
  description: `Sorted by id unless \`sort\` is given. Only this order can be read if more than ${number(CLIENTS_IN_TABLE)} clients are registered.`,
  input: [
    ...arrangementMembers('client', 'name or id', ['client_id', 'name', 'created_at']),
    filterMember('type', 'Type', ['confidential', 'public', 'native'], 'Only clients of this type.'),
    filterMember('state', 'State', ['enabled', 'disabled'], 'Only clients in this state.'),
  ],
  isPaged: true,
  refusals: ['conflict'],
  run: async ({ service, input, page }) => ({ output: await listedClients(service, input, page) }),
})

async function listedClients(service: Service, filter: ClientFilter, page: PageRequest): Promise<Listed> {
  const { store } = service
  const { search, type, state, sort = 'client_id', order = 'ascending' } = filter
  const isById = sort === 'client_id' && order === 'ascending' && type === undefined && state === undefined
  if (isById && search === undefined && page.before === undefined) return clientsById(service, page)
  const table = await readClientTable(store)
  if (table === null) {
    if (!isById || search === undefined) throw tooManyClients()
    return searchedClients(service, search, page)
  }
  const wanted = [...table.values()].filter(
    (row) =>
      (type === undefined || row.type === type) && (state === undefined || (row.disabledAt === null) === (state === 'enabled')),
  )
  const found = pageOfArranged(arrangeItems(wanted, filter, SORTED), page, filter, SORTED)
  const read = await Promise.all(found.items.map(({ id }) => store.clients.readClient(id)))
  // A client can be deleted after the table was read.
  return {
    ...found,
    items: await listedRecords(
      service,
      read.filter((client) => client !== null),
    ),
  }
}

async function listedRecords(service: Service, listed: readonly Client[]): Promise<Members[]> {
  const warnings = await nameWarningsOf(service, listed)
  return listed.map((client, index) => {
    const ofName = warnings[index] ?? []
    return { ...clientRecord(client), ...(ofName.length > 0 && { warnings: ofName }) }
  })
}

/** In the order of the store, which needs no table. */
async function clientsById(service: Service, page: PageRequest): Promise<Listed> {
  const { clients } = service.store
  const placeOf = ({ id }: Client): SortPlace => ({ key: id, id })
  const read = (limit: number, after: SortPlace | undefined) => clients.readClients({ after: after?.id ?? '', limit })
  const [{ items, next }, total] = await Promise.all([readPage(page, read, placeOf), clients.countClients()])
  const [first] = items
  const canGoBack = page.after !== undefined && first !== undefined && total <= CLIENTS_IN_TABLE
  return {
    items: await listedRecords(service, items),
    next,
    previous: canGoBack ? placeOf(first) : null,
    total: { number: total, kind: 'exact' },
  }
}

/** Among more clients than a table has, a search reads one page after another. */
async function searchedClients(service: Service, search: string, page: PageRequest): Promise<Listed> {
  const read = async (limit: number, after: SortPlace | undefined): Promise<Client[]> => {
    const found = await searchClients(service.store, search, { after: after?.id ?? '', limit })
    if (found === 'too_many') throw tooManyClients()
    return found
  }
  const { items, next } = await readPage(page, read, ({ id }) => ({ key: id, id }))
  return { items: await listedRecords(service, items), next }
}

function tooManyClients(): Refusal {
  return conflict(`More than ${number(CLIENTS_IN_TABLE)} clients are registered. Search for the whole client id.`)
}

export const createClient = create<Members, CreatedClient>({
  summary: 'Registers a client.',
  description: 'The client secret is in this response only. With an Idempotency-Key a repeated request gets the same response.',
  input: givenAtCreation(clientMembers),
  refusals: ['idempotency_key_reused'],
  answers: {
    done: 'The request was repeated: the client was registered before.',
    created: 'The client was registered.',
  },
  output: createdSchema,
  // The command also prints the secret for a shell: packages/server/src/app/commands/clients-create.ts.
  command: null,
  page: {
    link: 'Register a client',
    intro: 'Only the name and the redirect URIs are needed for an app with a server. Everything else has a usual value.',
    button: 'Register the client',
    done: 'The client is registered',
  },
  async question({ service, input }) {
    const registered = registerClient(registrationOf({ name: '', ...input }), service.now())
    if (registered.kind === 'faults') throw invalid(namedFaults(clientMembers, registered.faults))
    return {
      title: 'Register this client?',
      effect: 'It registers 1 client. No grant changes.',
      notes: [
        ...(registered.secret === null ? [] : ['The next page shows the client secret, once.']),
        ...(await warningsOf(service, registered.client)),
      ],
    }
  },
  async run(call) {
    const registration = registrationOf(call.input)
    requireOwnerFor(call.service, call.actor, registration)
    const created = await register(call, registration)
    if (created.kind === 'faults') throw invalid(namedFaults(clientMembers, created.faults), 'This client cannot be registered.')
    if (created.kind === 'taken') throw conflict('A client with this id is registered already.', 'taken')
    if (created.kind === 'key_reused')
      throw new Refusal('idempotency_key_reused', 'The Idempotency-Key was used for another client, or this one was changed.')
    const { client, secret, isNew } = created
    const act = { event: 'client_created', client_id: client.id } as const
    return { ...(await withSecret(call.service, client, secret)), isNew, ...(isNew && { act }) }
  },
})

const getClient = get({
  output: Type.Object({
    client: refTo(clientSchema),
    unended_grants: Type.Integer({ description: 'The grants that have not ended, counted up to 10,000.' }),
  }),
  command: {
    about: 'Shows all properties of the client except its secret, which cannot be shown again.',
    examples: [EXAMPLE],
  },
  async run({ service, id }) {
    const client = await readClient(service, id)
    const record = await checkedRecord(service, client)
    return { output: { client: record, unended_grants: await countUnended(service, id) }, record }
  },
})

export const getSetupOfClient = get<Setup>({
  id: 'getSetupOfClient',
  verb: 'setup',
  path: ':id/setup',
  summary: 'Reads what a builder needs to connect an app: the values of the client, and code for common libraries.',
  description: 'The secret is not in the answer. The code reads the values from the environment.',
  answers: { done: 'The values and the code.' },
  output: Type.Object({
    environment: Type.Record(Type.String()),
    note: Type.Union([Type.String(), Type.Null()], { description: 'What the code needs and the client lacks, or null.' }),
    snippets: Type.Array(Type.Object({ library: Type.String(), language: Type.String(), code: Type.String() })),
  }),
  // The command prints files and no record: packages/server/src/app/commands/clients-setup.ts.
  command: null,
  async run({ service, id }) {
    const client = await readClient(service, id)
    const facts = await service.textFacts()
    if (facts === null) throw invalid([], 'The address of the service is not known: set GRANTOR_AUTH_URL and GRANTOR_LOGIN_URL.')
    return { output: setupOf(facts.settings.authUrl, client) }
  },
})

export const updateClient = change({
  summary: 'Changes a client.',
  description:
    'Members that are absent stay unchanged. A list replaces the whole list. `disabled` stops the client until it is enabled again; its grants are kept.',
  input: givenAtChange(clientMembers),
  command: {
    about:
      'Properties that are not named stay unchanged. A repeatable option replaces the whole list: to add a redirect URI, name the present ones too. The running service applies the change within a second. Existing grants are not affected.',
    examples: [`${EXAMPLE} --redirect-uri https://app.example.com/oauth/callback`],
    done: (client: Members) => `Changed; the client ${hintOfSecret(client)}is now:`,
  },
  async question({ service, id, input }) {
    const { grants, have } = await readWithGrants(service, id)
    return {
      effect: `It changes ${formatCount(Object.keys(input).length, 'setting')} of a client with ${grants} that ${have} not ended.`,
    }
  },
  run: changeClient,
})

/** In the API, this is the member `disabled` of `updateClient`. */
const SWITCH = { path: null, refusals: ['changed_meanwhile'], answers: {}, output: null } as const

const DISABLED = 'The client is disabled. Its grants are kept.'

const disableClient = act({
  ...SWITCH,
  id: 'disableClient',
  verb: 'disable',
  summary: 'Stops a client until it is enabled again: it cannot sign in users, redeem, refresh or introspect.',
  command: {
    about: 'The running service applies the change within a second. Grants are kept, so enabling the client restores everything.',
    examples: [EXAMPLE],
    done: () => DISABLED,
  },
  page: { link: 'Disable', isDangerous: true, done: DISABLED, isOffered: ({ disabled }) => disabled === false },
  async question({ service, id }) {
    const { client, grants } = await readWithGrants(service, id)
    return {
      title: `Disable ${client.name}?`,
      effect: `It stops ${grants} until the client is enabled again: users cannot sign in, refreshes are refused, and tokens are inactive at introspection. It ends 0 grants.`,
    }
  },
  run: async (call) => changeClient({ ...call, input: { disabled: true } }),
})

const enableClient = act({
  ...SWITCH,
  id: 'enableClient',
  verb: 'enable',
  summary: 'Lets a disabled client work again.',
  command: { about: [], examples: [EXAMPLE], done: () => 'The client is enabled.' },
  page: { link: 'Enable', done: 'The client is enabled.', isOffered: ({ disabled }) => disabled === true },
  async question({ service, id }) {
    const { client, count, grants } = await readWithGrants(service, id)
    return { title: `Enable ${client.name}?`, effect: `${grants} ${count === 1 ? 'works' : 'work'} again.` }
  },
  run: async (call) => changeClient({ ...call, input: { disabled: false } }),
})

const rotateClientSecret = act<{ overlap?: number }, CreatedClient>({
  id: 'rotateClientSecret',
  verb: 'rotate-secret',
  path: ':id/secrets',
  summary: 'Gives a client a new secret.',
  description:
    'The secret is in this response only. The present secret stays valid for `overlap` seconds; 0 for a secret that leaked.',
  input: [
    {
      name: 'overlap',
      shape: { kind: 'integer', minimum: 0, maximum: THIRTY_DAYS },
      words: 'Seconds for which the present secret stays valid; 86400 unless given.',
      label: 'The present secret is valid for',
      usual: 'one more day',
      choices: { 2592000: '30 more days', 0: 'no longer: it leaked' },
      option: {
        value: 'SECONDS',
        words: 'How long the present secret stays valid: 86400 (a day) unless given, at most 2592000 (30 days).',
      },
    },
  ],
  refusals: ['changed_meanwhile', 'conflict'],
  answers: { created: 'The client and its new secret.' },
  output: createdSchema,
  command: {
    about:
      'The present secret stays valid for a while, and at most two secrets are valid at a time. For a leaked secret use --overlap 0: then only the new secret is valid, at once. With --json the object of clients create is printed.',
    examples: [`${EXAMPLE} --overlap 3600`],
    done: ({ client }: CreatedClient) => secretsText(client.secrets),
    json: registeredRecord,
  },
  page: {
    link: 'Rotate the secret',
    button: 'Rotate the secret',
    done: 'The secret is rotated',
    isOffered: ({ token_endpoint_auth_method: method }) => hasSecret(method as ClientAuthMethod),
  },
  async question({ service, id, input: { overlap = A_DAY } }) {
    const { name } = await readClient(service, id)
    const end = overlap === 0 ? 'no longer valid' : `valid for ${formatCount(overlap / A_DAY, 'more day')}`
    return {
      title: 'Rotate the secret?',
      effect: `It makes 1 new secret for ${name}. The present one is ${end}.`,
      notes: ['Its grants stay valid. The next page shows the secret, once.'],
      isDangerous: overlap === 0,
    }
  },
  async run({ service, actor, id, input: { overlap = A_DAY }, requireMatch }) {
    await requireOwnerIfOperator(service, actor, id)
    const accept = (present: Client): void => {
      requireMatch(clientRecord(present))
      requireOwnerFor(service, actor, present)
    }
    const outcome = await rotateSecret(service.store, id, { overlap, at: service.now(), accept })
    if (outcome.kind === 'unknown') throw notFound(clientKind.name, id)
    if (outcome.kind === 'has_no_secret') throw conflict(`${capitalise(outcome.because)}.`)
    const act = { event: 'client_secret_rotated', client_id: id, details: { overlap } } as const
    return { ...(await withSecret(service, outcome.client, outcome.secret)), isNew: true, act }
  },
})

/** What both changes of a logo have. */
const LOGO = {
  refusals: ['changed_meanwhile'],
  answers: { done: 'The changed client.' },
  output: refTo(clientSchema),
} as const

export const setClientLogo = act<{ logo: string }, CheckedRecord>({
  ...LOGO,
  id: 'setClientLogo',
  verb: 'set-logo',
  path: ':id/logo',
  summary: 'Gives a client a logo, which users see beside its name.',
  description:
    'A PNG of at most 32,768 bytes, each side 16 to 512 pixels, as a data URI. The service checks the picture, removes what a picture does not need, and serves it itself. The host of the client is always shown too.',
  input: [
    {
      name: 'logo',
      shape: { kind: 'picture' },
      required: true,
      label: 'Logo',
      hint: 'A PNG of at most 32 kB; each side has 16 to 512 pixels.',
      words: 'The picture, as in data:image/png;base64,iVBORw0KGgo…',
      option: { value: 'FILE', words: 'A PNG of at most 32,768 bytes; each side has 16 to 512 pixels.' },
    },
  ],
  command: {
    about: [
      'The picture is shown beside the name of the client when a user signs in, and on the account page. It never replaces the name or the host. The service serves the picture itself. The running service applies the change within a second.',
    ],
    examples: [`${EXAMPLE} --logo aurora-notes.png`],
    done: ({ logo }: CheckedRecord) => `The client has the logo with the SHA-256 ${String(logo)}.`,
  },
  page: { link: 'Logo', button: 'Set the logo', done: 'The client has the logo.' },
  async question({ service, id, input: { logo } }) {
    const { width, height, bytes } = givenLogo(logo)
    const { name } = await readClient(service, id)
    return {
      title: `Set the logo of ${name}?`,
      effect: `Users see this picture beside the name: ${width} × ${height} pixels, ${bytes.length} bytes.`,
    }
  },
  run: async (call) => changeLogo(call, givenLogo(call.input.logo)),
})

export const removeClientLogo = act<Members, CheckedRecord>({
  ...LOGO,
  id: 'removeClientLogo',
  verb: 'remove-logo',
  summary: 'Removes the logo of a client. Users then see the first letter of its name.',
  command: {
    about: ['The running service applies the change within a second.'],
    examples: [EXAMPLE],
    done: () => 'The client has no logo.',
  },
  page: {
    link: 'Remove the logo',
    button: 'Remove the logo',
    done: 'The client has no logo.',
    isOffered: ({ logo }) => logo !== null,
  },
  run: async (call) => changeLogo(call, null),
})

function givenLogo(uri: string): Logo {
  const read = readLogoUri(uri, CLIENT_LOGO)
  if ('fault' in read) throw invalid([{ member: 'logo', words: `The picture ${read.fault}.` }], 'This picture cannot be a logo.')
  return read.logo
}

async function changeLogo(
  { service, actor, id, requireMatch }: Omit<Call, 'input'>,
  logo: Logo | null,
): Promise<Result<CheckedRecord>> {
  await requireOwnerIfOperator(service, actor, id)
  let before: Client | undefined
  const accept = (present: Client): void => {
    requireMatch(clientRecord(present))
    requireOwnerFor(service, actor, present)
    before = present
  }
  const after = existing(await storeLogo(service.store, id, { logo, accept }), id)
  const record = await checkedRecord(service, after)
  const changed = differences(clientMembers, before ?? after, after)
  const details = { ...changedNames(changed), logo: logo?.hash ?? 'none' }
  return {
    output: record,
    record,
    ...(changed.length > 0 && { act: { event: 'client_changed', client_id: id, details } as const }),
  }
}

type JobOutput = ReturnType<typeof jobRecord>

/** Work that takes long at a client with many grants. */
const JOB = {
  refusals: ['changed_meanwhile', 'conflict'],
  answers: { started: 'The job, which goes on without the caller.' },
  output: refTo(jobs.schemas[0]),
} as const
const JOB_COMMAND = {
  examples: [`${EXAMPLE} --yes`],
  isConfirmed: true,
  json: ({ client_id, grants_ended }: JobOutput) => ({ client_id, grants_ended }),
} as const

export const deleteClient = remove<Members, JobOutput>({
  ...JOB,
  summary: 'Deletes a client permanently and ends its grants.',
  description: 'The client is disabled at once. The job ends its grants and then removes the client.',
  command: {
    ...JOB_COMMAND,
    about:
      'This cannot be undone, so --yes or an answer at the terminal is required. To stop a client temporarily: grantor clients disable.',
    done: ({ grants_ended: ended }: JobOutput) => `Deleted the client and ended ${formatCount(ended, 'grant')}.`,
  },
  async question({ service, id }) {
    const { client, grants } = await readWithGrants(service, id)
    return {
      title: `Delete ${client.name}?`,
      effect: `It ends ${grants} and deletes the client.`,
      notes: ['The client is disabled at once, so no user can sign in to it from that moment on.', 'This cannot be undone.'],
    }
  },
  async run(call) {
    const { service, actor, id } = call
    requireOwnerFor(service, actor, await readMatching(call))
    await requireOwnerIfOperator(service, actor, id)
    const result = await startJob(call, 'delete_client', { started: 'client_deletion_started', done: 'client_deleted' })
    await disable(service, id)
    return result
  },
})

const endGrantsOfClient = act<Members, JobOutput>({
  ...JOB,
  id: 'endGrantsOfClient',
  verb: 'end-grants',
  scope: 'admin.grants',
  summary: 'Ends all grants of a client.',
  description:
    'The client itself stays as it is. Sessions, consents and sign-ins in progress stay too, so the app may get new grants, also without a signature. Disable the client to prevent this.',
  command: {
    ...JOB_COMMAND,
    about:
      'The client itself stays as it is. Sessions, consents and sign-ins in progress stay too, so the app may get new grants, also without a signature. Disable the client to prevent this. This cannot be undone.',
    done: ({ grants_ended: ended }: JobOutput) => `Ended ${formatCount(ended, 'grant')}.`,
  },
  page: { link: 'End all grants', button: 'End the grants' },
  async question({ service, id }) {
    const { client, grants } = await readWithGrants(service, id)
    return {
      title: `End all grants of ${client.name}?`,
      effect: `It ends ${grants}.`,
      notes: [
        'Sessions, consents and sign-ins in progress stay, so the app may get new grants, also without a signature. To prevent this, disable the client.',
        'This cannot be undone.',
      ],
    }
  },
  async run(call) {
    await readMatching(call)
    return startJob(call, 'end_grants_of_client', { started: 'ending_of_grants_started', done: 'grants_ended' })
  },
})

async function readMatching({ service, id, requireMatch }: Call): Promise<Client> {
  const client = await readClient(service, id)
  requireMatch(clientRecord(client))
  return client
}

type JobEvents = Record<'started' | 'done', ActName>

/** The act of a job that is done at once has the number of grants. */
async function startJob({ service, actor, id }: Call, kindOfJob: NewJob['kind'], events: JobEvents): Promise<Result<JobOutput>> {
  const job = await service.startJob({ kind: kindOfJob, clientId: id, startedBy: actor.id })
  if (job === null) throw conflict('Too many jobs are under way. Wait until one is done.')
  const act =
    job.doneAt === null
      ? { event: events.started, client_id: id }
      : { event: events.done, client_id: id, details: { grants: job.grantsEnded } }
  return { output: jobRecord(job), isNew: true, act }
}

/** The client may be deleted already. */
async function disable({ store, now }: Service, id: string): Promise<void> {
  await store.clients.changeClient(id, (present) => ({ ...present, disabledAt: present.disabledAt ?? now() }))
}

async function changeClient({ service, actor, id, input, requireMatch, origin }: Call): Promise<Result<ClientRecord>> {
  const at = service.now()
  const { disabledAt: disabled, ...given } = byKey(clientMembers, input)
  const { secrets } = origin?.client ?? {}
  const changes = {
    ...given,
    ...(typeof given.name === 'string' && { name: given.name.trim() }),
    ...(secrets && { secrets }),
  } as Partial<Client>
  requireOwnerFor(service, actor, changes)
  await requireOwnerIfOperator(service, actor, id)
  let before: Client | undefined
  const changesOf = (present: Client): Partial<Client> => {
    requireMatch(clientRecord(present))
    requireOwnerFor(service, actor, present)
    before = present
    const disabledAt = disabled === true ? (present.disabledAt ?? at) : null
    return disabled === undefined ? changes : { ...changes, disabledAt }
  }
  const outcome = await storeChanges(service.store, id, changesOf, at)
  if (outcome.kind === 'unknown') throw notFound(clientKind.name, id)
  if (outcome.kind === 'faults') throw invalid(namedFaults(clientMembers, outcome.faults), 'This change cannot be made.')
  const record = await checkedRecord(service, outcome.client)
  const changed = differences(clientMembers, before ?? outcome.client, outcome.client)
  const event = eventOf(changed)
  const details = event === 'client_changed' ? { details: changedNames(changed) } : {}
  return { output: record, record, ...(changed.length > 0 && { act: { event, client_id: id, ...details } }) }
}

function eventOf([first, ...others]: readonly MemberChange[]): ActName {
  if (first?.name !== clientMembers.disabledAt.name || others.length > 0) return 'client_changed'
  return first.after === true ? 'client_disabled' : 'client_enabled'
}

async function register({ service, actor, idempotencyKey: key, origin }: Call, registration: ClientRegistration) {
  const at = service.now()
  if (key !== undefined) {
    const idempotency = { key, callerId: actor.id }
    return createClientOnce(service.store, service.keys().ring, { registration, at, idempotency })
  }
  const created = origin?.client
    ? await storeClient(service.store, registration, at, origin.client)
    : await storeClient(service.store, registration, at)
  return created.kind === 'registered' ? { ...created, isNew: true } : created
}

function registrationOf(input: Members): ClientRegistration {
  return { type: 'confidential', redirectUris: [], ...byKey(clientMembers, input) } as unknown as ClientRegistration
}

async function withSecret(
  service: Service,
  client: Client,
  secret: string | null,
): Promise<{ output: CreatedClient; record: object }> {
  const record = await checkedRecord(service, client)
  return { output: { client: record, client_secret: secret }, record }
}

/** Exactly these members, and warnings if there are any. */
export function registeredRecord({ client, client_secret }: CreatedClient): Members {
  const { client_id, name, redirect_uris, scopes, type, consent, warnings } = client
  return { client_id, client_secret, name, redirect_uris, scopes, type, consent, ...(warnings.length > 0 && { warnings }) }
}

async function readClient({ store }: Service, id: string): Promise<Client> {
  return existing(await store.clients.readClient(id), id)
}

async function countUnended({ store }: Service, clientId: string): Promise<number> {
  return store.grants.countUnendedGrants({ clientId }, COUNTED_AT_MOST)
}

async function readWithGrants(service: Service, id: string) {
  const client = await readClient(service, id)
  const count = await countUnended(service, id)
  return { client, count, grants: formatCount(count, 'grant', COUNTED_AT_MOST), have: count === 1 ? 'has' : 'have' }
}

/** A client that begins to authenticate with a secret has none yet. */
function hintOfSecret({ client_id: id, token_endpoint_auth_method: method, secrets }: Members): string {
  const lacksSecret = hasSecret(method as ClientAuthMethod) && (secrets as SecretExpiries).length === 0
  return lacksSecret ? `has no secret yet (grantor clients rotate-secret ${String(id)} makes one), and ` : ''
}

type SecretExpiries = readonly { expires_at: number | null }[]

function secretsText(secrets: SecretExpiries): string {
  const earlier = secrets.find(({ expires_at: at }) => at !== null)?.expires_at
  return earlier ? `The earlier secret is valid until ${utc(earlier)}.` : 'The earlier secrets are no longer valid.'
}

function secretsShown(value: unknown): Shown {
  const texts = (value as SecretExpiries).map(({ expires_at: at }) => (at === null ? 'one' : `one until ${utc(at)}`))
  return texts.join(', ') || 'none'
}

function stateOf({ disabled_at: at }: Members): Shown {
  return at === null ? { state: 'enabled', tone: 'good' } : { state: 'disabled', tone: 'warn', since: at as number }
}

export const clients: Subject = {
  ...clientKind,
  operations: [
    listClients,
    createClient,
    getClient,
    getSetupOfClient,
    updateClient,
    rotateClientSecret,
    setClientLogo,
    removeClientLogo,
    disableClient,
    enableClient,
    deleteClient,
    endGrantsOfClient,
  ],
}
