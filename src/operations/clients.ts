/** The registered clients. */
import { Type } from 'typebox'
import type { OperatorEvent } from '../domain/audit/operator-acts.ts'
import { createClientOnce } from '../domain/clients/idempotent-client.ts'
import { rotateSecret, updateClient as storeChanges, createClient as storeClient } from '../domain/clients/manage-clients.ts'
import { type ClientRegistration, hasSecret, registerClient } from '../domain/clients/register-client.ts'
import { SEARCHED_AT_MOST, searchClients } from '../domain/clients/search-clients.ts'
import type { Client, ClientAuthMethod } from '../domain/model/records.ts'
import type { NewJob } from '../domain/operators/jobs.ts'
import { requireOwnerFor, requireOwnerIfOperator } from './access.ts'
import { jobRecord, jobSchema } from './jobs.ts'
import { clientMembers } from './members/client-members.ts'
import { byKey, changedNames, givenAtChange, givenAtCreation, type Members, membersOf, type Shown } from './members/member.ts'
import {
  type Call,
  defineOperation,
  displaysOf,
  type Operation,
  type Page,
  type Question,
  type Result,
  readPage,
  type Subject,
} from './operation.ts'
import { conflict, invalid, notFound, Refusal } from './refusal.ts'
import { named, pageOf, recordSchema, refTo, time, timeOrNull, uuid } from './schemas.ts'
import type { Service } from './service.ts'
import { counted, utc } from './words.ts'

/** Counting stops at this number, because counting more grants takes long. */
export const COUNTED_AT_MOST = 10_000
const A_DAY = 86_400
const THIRTY_DAYS = 2_592_000

const subject = 'clients'

export const clientSchema = named(
  'Client',
  recordSchema(clientMembers, {
    client_id: uuid,
    secrets: Type.Array(Type.Object({ expires_at: timeOrNull }), {
      description: 'The secrets that are valid, without the secrets themselves.',
    }),
    created_at: time,
    disabled_at: timeOrNull,
  }),
)
const createdSchema = Type.Object({
  client: refTo(clientSchema),
  client_secret: Type.Union([Type.String(), Type.Null()], {
    description: 'Sent once, never stored. Null for a client without a secret.',
  }),
})

/** The record contains no secret and no hash of a secret. */
function clientRecord(client: Client): ClientRecord {
  return {
    ...membersOf(clientMembers, client),
    client_id: client.id,
    secrets: client.secrets.map(({ expiresAt }) => ({ expires_at: expiresAt })),
    created_at: client.createdAt,
    disabled_at: client.disabledAt,
  }
}

type ClientRecord = Members & { client_id: string; secrets: Secrets; created_at: number; disabled_at: number | null }

type Created = { client: ClientRecord; client_secret: string | null }

const listClients = defineOperation<{ search?: string }>({
  id: 'listClients',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.read',
  summary: 'Lists the registered clients, sorted by id.',
  input: [
    {
      name: 'search',
      shape: { kind: 'text' },
      longest: 100,
      words: 'Only clients whose name or id contains this text.',
      label: 'Name or client id',
      option: { value: 'TEXT', words: 'Only clients whose name or id contains this text.' },
    },
  ],
  isPaged: true,
  mayConflict: true,
  answers: { done: 'A page of clients.' },
  output: pageOf(clientSchema),
  command: { examples: [''] },
  async run({ service, input, page }) {
    const { items, next } = await readPage<Client, { id: string }>(
      page,
      (limit, after) => readClients(service, input.search, { after: after?.id ?? '', limit }),
      ({ id }) => ({ id }),
    )
    return { output: { items: items.map(clientRecord), next } }
  },
})

const createClient = defineOperation<Members, Created>({
  id: 'createClient',
  subject,
  kind: 'create',
  verb: 'create',
  scope: 'admin.clients',
  summary: 'Registers a client.',
  description: 'The client secret is in this answer only. With an Idempotency-Key a repeated request gets the same answer.',
  input: givenAtCreation(clientMembers),
  isRepeatable: true,
  answers: {
    done: 'The request was repeated: the client was registered before.',
    created: 'The client was registered.',
  },
  output: createdSchema,
  command: {
    about: [
      'A client is a builder app, or a resource API. The client secret is printed once and stored only as a hash. With --json exactly one object is printed: {"client_id","client_secret","name","redirect_uris","scopes","type","consent"}; client_secret is null for clients without a secret: public and native clients, and clients that authenticate by private_key_jwt. With --env the lines CLIENT_ID=… and, if there is a secret, CLIENT_SECRET=… are printed, for a shell or an environment file.',
    ],
    examples: [
      '--name "My app" --redirect-uri https://app.example.com/callback --env > my-app.env',
      '--name "My app" --redirect-uri https://app.example.com/callback',
      '--name "My API" --resource-server https://api.example.com/ --json',
      '--name "My back end" --grant-type client_credentials --token-endpoint-auth-method private_key_jwt --jwks-uri https://app.example.com/jwks.json',
    ],
    done: ({ client }: Created) => `Registered "${String(client.name)}".`,
    json: registeredRecord,
    environment: ({ client, client_secret: secret }: Created) => ({
      CLIENT_ID: client.client_id,
      ...(secret !== null && { CLIENT_SECRET: secret }),
    }),
  },
  page: {
    link: 'Register a client',
    intro: 'Only the name and the redirect URIs are needed for an app with a server. Everything else has a usual value.',
    button: 'Register the client',
    done: 'The client is registered',
    initial: { type: 'confidential' },
  },
  async question({ service, input }) {
    const registered = registerClient(registrationOf({ name: '', ...input }), service.now())
    if (registered.kind === 'faults') throw invalid(registered.faults)
    return {
      title: 'Register this client?',
      effect: 'It registers 1 client. No grant changes.',
      notes: registered.secret === null ? [] : ['The next page shows the client secret, once.'],
    }
  },
  async run(call) {
    const registration = registrationOf(call.input)
    requireOwnerFor(call.service, call.actor, registration)
    const created = await register(call, registration)
    if (created.kind === 'faults') throw invalid(created.faults, 'This client cannot be registered.')
    if (created.kind === 'key_reused')
      throw new Refusal('idempotency_key_reused', 'The Idempotency-Key was used for another client, or this one was changed.')
    const { client, secret, isNew } = created
    const act = { event: 'client_created', client_id: client.id } as const
    return { ...withSecret(client, secret), isNew, ...(isNew && { act }) }
  },
})

const getClient = defineOperation({
  id: 'getClient',
  subject,
  kind: 'get',
  verb: 'show',
  scope: 'admin.read',
  summary: 'Reads a client.',
  answers: { done: 'The client.' },
  output: Type.Object({
    client: refTo(clientSchema),
    unended_grants: Type.Integer({ description: 'The grants that have not ended, counted up to 10,000.' }),
  }),
  command: {
    about: ['Shows all properties of the client except its secret, which cannot be shown again.'],
    examples: ['0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  },
  async run({ service, id }) {
    const client = await readClient(service, id)
    const record = clientRecord(client)
    return { output: { client: record, unended_grants: await countUnended(service, id) }, record }
  },
})

const updateClient = defineOperation({
  id: 'updateClient',
  subject,
  kind: 'change',
  verb: 'update',
  scope: 'admin.clients',
  summary: 'Changes a client.',
  description:
    'Members that are absent stay unchanged. A list replaces the whole list. `disabled` stops the client until it is enabled again; its grants are kept.',
  input: givenAtChange(clientMembers),
  checksState: true,
  answers: { done: 'The changed client.' },
  output: refTo(clientSchema),
  command: {
    about: [
      'Properties that are not named stay unchanged. A repeatable option replaces the whole list: to add a redirect URI, name the present ones too. The running service applies the change within a second. Existing grants are not affected.',
    ],
    examples: ['0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --redirect-uri https://app.example.com/oauth/callback'],
    done: () => 'Changed; the client is now:',
    hint: hintOfSecret,
  },
  page: { link: 'Change', title: 'Change the client', button: 'Change the client', done: 'The client was changed.' },
  async question({ service, id, input }) {
    const { client, grants, have } = await readWithGrants(service, id)
    return {
      title: 'Change this client?',
      effect: `It changes ${counted(Object.keys(input).length, 'setting')} of a client with ${grants} that ${have} not ended.`,
      facts: [['Client', client.name]],
    }
  },
  run: async (call) => changeClient(call),
})

const disableClient = switchOperation('disable', {
  summary: 'Stops a client until it is enabled again: it cannot sign in users, redeem, refresh or introspect.',
  about: ['The running service applies the change within a second. Grants are kept, so enabling the client restores everything.'],
  done: 'The client is disabled. Its grants are kept.',
  link: 'Disable',
  isDisabled: true,
  effect: (grants) =>
    `It stops ${grants} until the client is enabled again: users cannot sign in, refreshes are refused, and tokens are inactive at introspection. It ends 0 grants.`,
})

const enableClient = switchOperation('enable', {
  summary: 'Lets a disabled client work again.',
  about: [],
  done: 'The client is enabled.',
  link: 'Enable',
  isDisabled: false,
  effect: (grants, count) => `${grants} ${count === 1 ? 'works' : 'work'} again.`,
})

type Switch = {
  summary: string
  about: readonly string[]
  done: string
  link: string
  isDisabled: boolean
  effect(grants: string, count: number): string
}

/** Disables or enables a client. In the API, this is the member `disabled` of `updateClient`. */
function switchOperation(verb: 'disable' | 'enable', { isDisabled, ...words }: Switch): Operation {
  return defineOperation({
    id: `${verb}Client`,
    subject,
    kind: 'act',
    verb,
    path: null,
    scope: 'admin.clients',
    summary: words.summary,
    checksState: true,
    answers: {},
    output: null,
    command: {
      about: words.about,
      examples: ['0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
      done: () => words.done,
    },
    page: {
      link: words.link,
      button: `${words.link} the client`,
      done: words.done,
      isOffered: ({ disabled }) => disabled !== isDisabled,
    },
    async question({ service, id }) {
      const { client, count, grants } = await readWithGrants(service, id)
      const title = `${words.link} ${client.name}?`
      return { title, effect: words.effect(grants, count), isDangerous: isDisabled }
    },
    run: async (call) => changeClient({ ...call, input: { disabled: isDisabled } }),
  })
}

const rotateClientSecret = defineOperation<{ overlap?: number }, Created>({
  id: 'rotateClientSecret',
  subject,
  kind: 'act',
  verb: 'rotate-secret',
  path: ':id/secrets',
  scope: 'admin.clients',
  summary: 'Gives a client a new secret.',
  description:
    'The secret is in this answer only. The present secret stays valid for `overlap` seconds; 0 for a secret that leaked.',
  input: [
    {
      name: 'overlap',
      shape: { kind: 'integer', minimum: 0, maximum: THIRTY_DAYS },
      words: 'Seconds for which the present secret stays valid; 86400 unless given.',
      label: 'The present secret is valid for',
      choices: { 86400: 'one more day', 2592000: '30 more days', 0: 'no longer: it leaked' },
      option: {
        value: 'SECONDS',
        words: 'How long the present secret stays valid: 86400 (a day) unless given, at most 2592000 (30 days).',
      },
    },
  ],
  checksState: true,
  mayConflict: true,
  answers: { created: 'The client and its new secret.' },
  output: createdSchema,
  command: {
    about: [
      'The present secret stays valid for a while, and at most two secrets are valid at a time. For a leaked secret use --overlap 0: then only the new secret is valid, at once. With --json the object of clients create is printed.',
    ],
    examples: ['0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --overlap 3600'],
    done: ({ client }: Created) => secretsText(client.secrets),
    json: registeredRecord,
  },
  page: {
    link: 'Rotate the secret',
    intro: 'The client gets a new secret.',
    button: 'Rotate the secret',
    done: 'The secret is rotated',
    initial: { overlap: A_DAY },
    isOffered: ({ token_endpoint_auth_method: method }) => hasSecret(method as ClientAuthMethod),
  },
  async question({ service, id, input: { overlap = A_DAY } }) {
    const { name } = await readClient(service, id)
    const end = overlap === 0 ? 'no longer valid' : `valid for ${counted(overlap / A_DAY, 'more day')}`
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
    if (outcome.kind === 'unknown') throw notFound(subject, id)
    if (outcome.kind === 'has_no_secret') throw conflict(`${capitalised(outcome.because)}.`)
    const act = { event: 'client_secret_rotated', client_id: id, details: { overlap } } as const
    return { ...withSecret(outcome.client, outcome.secret), isNew: true, act }
  },
})

const deleteClient = jobOperation({
  id: 'deleteClient',
  kind: 'delete',
  verb: 'delete',
  job: 'delete_client',
  summary: 'Deletes a client permanently and ends its grants.',
  description: 'The client is disabled at once. The job ends its grants and then removes the client.',
  scope: 'admin.clients',
  started: 'client_deletion_started',
  done: 'client_deleted',
  link: 'Delete',
  button: 'Delete the client',
  about: [
    'This cannot be undone, so --yes or an answer at the terminal is required. To stop a client temporarily: grantor clients disable.',
  ],
  question: ({ name }, grants) => ({
    title: `Delete ${name}?`,
    effect: `It ends ${grants} and deletes the client.`,
    notes: ['The client is disabled at once, so no user can sign in to it from that moment on.', 'This cannot be undone.'],
  }),
  printed: (ended) => `Deleted the client and ended ${ended}.`,
})

const endGrantsOfClient = jobOperation({
  id: 'endGrantsOfClient',
  kind: 'act',
  verb: 'end-grants',
  job: 'end_grants_of_client',
  summary: 'Ends all grants of a client.',
  description: 'The client itself stays as it is.',
  scope: 'admin.grants',
  started: 'ending_of_grants_started',
  done: 'grants_ended',
  link: 'End all grants',
  button: 'End the grants',
  about: ['The client itself stays as it is. Users sign in again to use the app. This cannot be undone.'],
  question: ({ name }, grants) => ({
    title: `End all grants of ${name}?`,
    effect: `It ends ${grants}.`,
    notes: ['Users sign in again to use the app. The client itself stays as it is.', 'This cannot be undone.'],
  }),
  printed: (ended) => `Ended ${ended}.`,
})

type JobWords = Pick<Operation, 'id' | 'verb' | 'kind' | 'summary' | 'scope'> & {
  job: NewJob['kind']
  description: string
  started: OperatorEvent
  done: OperatorEvent
  link: string
  button: string
  about: readonly string[]
  question(client: Client, grants: string): Question
  printed(ended: string): string
}

type JobOutput = ReturnType<typeof jobRecord>

/** Work that takes long at a client with many grants. The act of a job that is done at once has the number of grants. */
function jobOperation({ job: kind, started, done, link, button, about, printed, question, ...operation }: JobWords): Operation {
  return defineOperation<Members, JobOutput>({
    ...operation,
    subject,
    ...(operation.kind === 'act' && { path: `:id/${operation.verb}` }),
    checksState: true,
    mayConflict: true,
    answers: { started: 'The job, which goes on without the caller.' },
    output: refTo(jobSchema),
    command: {
      about,
      examples: ['0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --yes'],
      isConfirmed: true,
      done: ({ grants_ended: ended }: JobOutput) => printed(counted(ended, 'grant')),
      json: ({ client_id, grants_ended }: JobOutput) => ({ client_id, grants_ended }),
    },
    page: { link, button, isDangerous: true },
    async question({ service, id }) {
      const { client, grants } = await readWithGrants(service, id)
      return { ...question(client, grants), facts: [['Client id', id]], isDangerous: true }
    },
    async run({ service, actor, id, requireMatch }) {
      const client = await readClient(service, id)
      requireMatch(clientRecord(client))
      if (kind === 'delete_client') {
        requireOwnerFor(service, actor, client)
        await requireOwnerIfOperator(service, actor, id)
      }
      const job = await service.startJob({ kind, clientId: id, startedBy: actor.id })
      if (job === null) throw conflict('Too many jobs are under way. Wait until one is done.')
      if (kind === 'delete_client') await disable(service, id)
      const act =
        job.doneAt === null
          ? { event: started, client_id: id }
          : { event: done, client_id: id, details: { grants: job.grantsEnded } }
      return { output: jobRecord(job), isNew: true, act }
    },
  })
}

/** The client may be deleted already. */
async function disable({ store, now }: Service, id: string): Promise<void> {
  await store.clients.changeClient(id, (present) => ({ ...present, disabledAt: present.disabledAt ?? now() }))
}

async function changeClient({ service, actor, id, input, requireMatch }: Call): Promise<Result<ClientRecord>> {
  const at = service.now()
  const { disabledAt: disabled, ...given } = byKey(clientMembers, input)
  const changes = (typeof given.name === 'string' ? { ...given, name: given.name.trim() } : given) as Partial<Client>
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
  if (outcome.kind === 'unknown') throw notFound(subject, id)
  if (outcome.kind === 'faults') throw invalid(outcome.faults, 'This change cannot be made.')
  const record = clientRecord(outcome.client)
  // A client that is disabled twice was disabled once.
  const isSame = Object.keys(changes).length === 0 && before?.disabledAt === outcome.client.disabledAt
  const event = eventOf(disabled, changes)
  const details = event === 'client_changed' ? { details: changedNames(Object.keys(input)) } : {}
  return { output: record, record, ...(!isSame && { act: { event, client_id: id, ...details } }) }
}

function eventOf(disabled: unknown, changes: Partial<Client>): OperatorEvent {
  if (disabled === undefined || Object.keys(changes).length > 0) return 'client_changed'
  return disabled === true ? 'client_disabled' : 'client_enabled'
}

async function register({ service, actor, idempotencyKey: key }: Call, registration: ClientRegistration) {
  const at = service.now()
  if (key !== undefined) {
    const idempotency = { key, callerId: actor.id }
    return createClientOnce(service.store, service.keys().ring, { registration, at, idempotency })
  }
  const created = await storeClient(service.store, registration, at)
  return created.kind === 'faults' ? created : { ...created, isNew: true }
}

function registrationOf(input: Members): ClientRegistration {
  return { type: 'confidential', redirectUris: [], ...byKey(clientMembers, input) } as unknown as ClientRegistration
}

function withSecret(client: Client, secret: string | null): { output: Created; record: object } {
  const record = clientRecord(client)
  return { output: { client: record, client_secret: secret }, record }
}

/** Exactly these members. */
function registeredRecord({ client, client_secret }: Created): Members {
  const { client_id, name, redirect_uris, scopes, type, consent } = client as Members
  return { client_id, client_secret, name, redirect_uris, scopes, type, consent }
}

async function readClient({ store }: Service, id: string): Promise<Client> {
  const client = await store.clients.readClient(id)
  if (!client) throw notFound(subject, id)
  return client
}

async function countUnended({ store }: Service, clientId: string): Promise<number> {
  return store.grants.countUnendedGrants({ clientId }, COUNTED_AT_MOST)
}

async function readWithGrants(service: Service, id: string) {
  const client = await readClient(service, id)
  const count = await countUnended(service, id)
  return { client, count, grants: counted(count, 'grant', COUNTED_AT_MOST), have: count === 1 ? 'has' : 'have' }
}

async function readClients({ store }: Service, search: string | undefined, page: Page & { after: string }): Promise<Client[]> {
  if (search === undefined) return store.clients.readClients(page)
  const found = await searchClients(store, search, page)
  if (found !== 'too_many') return found
  throw conflict(`The search stopped after ${SEARCHED_AT_MOST} clients. Search for the whole client id.`)
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A client that begins to authenticate with a secret has none yet. */
function hintOfSecret({ client_id: id, token_endpoint_auth_method: method, secrets }: Members): string | null {
  const lacksSecret = hasSecret(method as ClientAuthMethod) && (secrets as Secrets).length === 0
  return lacksSecret ? `It has no secret yet. Make one: grantor clients rotate-secret ${String(id)}` : null
}

type Secrets = readonly { expires_at: number | null }[]

function secretsText(secrets: Secrets): string {
  const earlier = secrets.find(({ expires_at: at }) => at !== null)?.expires_at
  return earlier ? `The earlier secret is valid until ${utc(earlier)}.` : 'The earlier secrets are no longer valid.'
}

function secretsShown(value: unknown): Shown {
  const texts = (value as Secrets).map(({ expires_at: at }) => (at === null ? 'one' : `one until ${utc(at)}`))
  return texts.join(', ') || 'none'
}

function stateOf({ disabled_at: at }: Members): Shown {
  return at === null ? { state: 'enabled', tone: 'good' } : { state: 'disabled', tone: 'warn', since: at as number }
}

export const clients: Subject = {
  name: subject,
  noun: 'client',
  words: 'Registered clients',
  operand: { name: 'CLIENT_ID', words: 'The id of the client, from grantor clients list.' },
  unknown: 'no client is registered as',
  settings: 'clients',
  idName: 'client_id',
  displays: [
    ...displaysOf(clientMembers),
    {
      label: 'Grants',
      print: 'grants',
      shown: ({ unended_grants: count }) =>
        typeof count === 'number' ? `${counted(count, 'grant', COUNTED_AT_MOST)} not ended` : null,
    },
    { label: 'Secrets', print: 'secrets', shown: ({ secrets }) => secretsShown(secrets) },
    { label: 'Registered', print: 'created', shown: ({ created_at: at }) => ({ time: at as number }) },
    { label: 'State', print: 'state', column: 'STATE', shown: stateOf },
  ],
  empty: {
    page: 'No client is registered yet.',
    terminal: 'No client is registered yet: grantor clients create --help',
  },
  page: { title: 'Clients' },
  operations: [
    listClients,
    createClient,
    getClient,
    updateClient,
    rotateClientSecret,
    disableClient,
    enableClient,
    deleteClient,
    endGrantsOfClient,
  ],
}
