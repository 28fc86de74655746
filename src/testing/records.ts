/** The clients and resources of a test issuer: written as in the file of `grantor apply`, checked and stored by the same code. */
import { createHash } from 'node:crypto'
import { faultLines, readConfiguration } from '../cli/configuration/read-configuration.ts'
import { UsageError } from '../cli/terminal/command.ts'
import type { ClientAuthMethod } from '../domain/model/records.ts'
import type { Store } from '../domain/model/store.ts'
import { hashSecret } from '../keys/secret.ts'
import { type Configuration, planConfiguration } from '../operations/configuration/plan.ts'
import type { Service } from '../operations/service.ts'

/** An entry of `clients` in the file of `grantor apply`; docs/operating/apply.md lists the members. */
export type ClientEntry = {
  name: string
  /** a UUID; derived from the name unless given */
  client_id?: string
  type?: 'confidential' | 'public' | 'native'
  redirect_uris?: readonly string[]
  scopes?: readonly string[]
  resources?: readonly string[]
  resource_server?: string
  [member: string]: unknown
}

/** An entry of `resources` in the file of `grantor apply`. */
export type ResourceEntry = {
  resource: string
  name: string
  scopes: readonly { name: string; description: string }[]
  [member: string]: unknown
}

export type TestClient = {
  readonly name: string
  readonly clientId: string
  /** null for a client without a secret */
  readonly clientSecret: string | null
  readonly redirectUris: readonly string[]
  readonly resources: readonly string[]
  readonly authMethod: ClientAuthMethod
}

/** The client of a test issuer to which no client is given. */
export const USUAL_CLIENT: ClientEntry = { name: 'Test app', redirect_uris: ['http://localhost:3000/callback'] }

/** What messages name in place of a file. */
const SOURCE = 'clients and resources'

/** The configuration of the entries. Throws one error that lists all faults of the members. */
export function configurationOf(clients: readonly ClientEntry[], resources: readonly ResourceEntry[]): Configuration {
  return readConfiguration(JSON.stringify({ resources, clients }), SOURCE)
}

/** Stores the clients and resources of a configuration. All else in it, such as operators, does not matter to a test. */
export async function addRecords(configuration: Configuration, service: Service): Promise<TestClient[]> {
  const clients = configuration.clients?.map(({ place, members }) => ({ place, members: withId(members) })) ?? null
  const { resources } = configuration
  const plan = await planConfiguration({ clients, resources, operators: null, webhooks: null }, { service, prune: false })
  if ('faults' in plan) throw new UsageError(faultLines(SOURCE, plan.faults))
  for (const change of plan.changes) await change.carryOut(service.now(), () => undefined)
  const ids = (clients ?? []).map(({ members }) => members.client_id)
  return Promise.all(ids.map((id) => readTestClient(service.store, id)))
}

/** Replaces the random secret of the client by one that is derived from its id. */
async function readTestClient({ clients }: Store, id: string): Promise<TestClient> {
  const secret = secretOf(id)
  const client = await clients.changeClient(id, (present) => ({
    ...present,
    secrets: present.secrets.map((each) => ({ ...each, secretHash: hashSecret(secret) })),
  }))
  if (!client) throw new Error('the client was not stored')
  const { name, redirectUris, resources, authMethod, secrets } = client
  return { name, clientId: id, clientSecret: secrets.length > 0 ? secret : null, redirectUris, resources, authMethod }
}

/** Ids and secrets are the same at every start, so an app under test can have them in a file. They are no secrets of a real client. */
function withId<Members extends Readonly<Record<string, unknown>>>(members: Members) {
  const derived = derive(`id of ${String(members.name).trim()}`).subarray(0, 16)
  // A UUID of version 8, which is for custom values (RFC 9562 §5.8).
  derived.writeUInt8((derived.readUInt8(6) & 0x0f) | 0x80, 6)
  derived.writeUInt8((derived.readUInt8(8) & 0x3f) | 0x80, 8)
  const uuid = derived.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { client_id: uuid, ...members }
}

function secretOf(id: string): string {
  return derive(`secret of ${id}`).toString('base64url')
}

function derive(purpose: string): Buffer {
  return createHash('sha256').update(`grantor test issuer ${purpose}`).digest()
}

/** The client with this name or id; the first one if none is named. */
export function findClient(clients: readonly TestClient[], wanted: string | undefined): TestClient {
  const found = clients.find(({ name, clientId }) => wanted === undefined || wanted === name || wanted === clientId)
  if (!found)
    throw new RangeError(
      `client is none of the clients of this test issuer: ${clients.map(({ name }) => JSON.stringify(name)).join(', ')}`,
    )
  return found
}
