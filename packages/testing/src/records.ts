/** The clients and resources of a test issuer: written as in the file of `grantor apply`, checked and stored by the same code. */
import { createHash } from 'node:crypto'
import { addFileRecords, type Configuration, type FileClient, readConfiguration, type Service } from 'grantor/private'

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

export type TestClient = FileClient

/** The client of a test issuer to which no client is given. */
export const USUAL_CLIENT: ClientEntry = { name: 'Test app', redirect_uris: ['http://localhost:3000/callback'] }

/** What messages name in place of a file. */
const SOURCE = 'clients and resources'

/** The configuration of the entries. Throws one error that lists all faults of the members. */
export function configurationOf(clients: readonly ClientEntry[], resources: readonly ResourceEntry[]): Configuration {
  return readConfiguration(JSON.stringify({ resources, clients }), SOURCE)
}

/** Ids and secrets are the same at every start, so an app under test can have them in a file. They are no secrets of a real client. */
export function addRecords(configuration: Configuration, service: Service): Promise<TestClient[]> {
  return addFileRecords(configuration, service, { source: SOURCE, idFor, secretFor: secretOf })
}

function idFor(name: string): string {
  const derived = derive(`id of ${name}`).subarray(0, 16)
  // A UUID of version 8, which is for custom values (RFC 9562 §5.8).
  derived.writeUInt8((derived.readUInt8(6) & 0x0f) | 0x80, 6)
  derived.writeUInt8((derived.readUInt8(8) & 0x3f) | 0x80, 8)
  return derived.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
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
