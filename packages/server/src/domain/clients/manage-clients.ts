/** What operators do with registered clients, for the commands and the admin API. */
import { hashSecret, newSecret } from '../../protocol/keys/secret.ts'
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'
import { type ClientFault, clientFaults } from './client-faults.ts'
import { signingFaults } from './profile-signing.ts'
import {
  type ClientRegistration,
  changeClient,
  hasSecret,
  type Registered,
  type RegistrationFaults,
  registerClient,
  rotateClientSecret,
} from './register-client.ts'

type ClientRecords = Pick<Store, 'clients' | 'keys'>
/** Called with the present client before each change. An error stops the change. */
type Accept = (present: Client) => void
const acceptAny: Accept = () => {}

export type ClientChange = { kind: 'changed'; client: Client } | { kind: 'unknown' } | RegistrationFaults

export type Taken = { kind: 'taken'; client: Client; wanted: Client }

/** Registers a client and stores it. */
export async function createClient(
  store: ClientRecords,
  registration: ClientRegistration,
  at: number,
): Promise<Registered | RegistrationFaults>
/** The same with an id and secrets that the caller chose. `taken`: a client with this id exists. */
export async function createClient(
  store: ClientRecords,
  registration: ClientRegistration,
  at: number,
  identity: ClientIdentity,
): Promise<Registered | RegistrationFaults | Taken>
export async function createClient(
  store: ClientRecords,
  registration: ClientRegistration,
  at: number,
  identity?: ClientIdentity,
): Promise<Registered | RegistrationFaults | Taken> {
  const registered = registerClient(registration, at)
  if (registered.kind === 'faults') return registered
  const { client, secret } = identity ? withIdentity(registered, identity) : registered
  const faults = signingFaults(client, await store.keys.listKeys(), at)
  if (faults.length > 0) return { kind: 'faults', faults }
  if ((await store.clients.insertClient(client)) === 'inserted') return { kind: 'registered', client, secret }
  const present = await store.clients.readClient(client.id)
  return present ? { kind: 'taken', client: present, wanted: client } : { kind: 'registered', client, secret }
}

/** A secret, or a client whose secrets are known only by their hashes. */
export type ClientIdentity = { id: string; secret: string } | Pick<Client, 'id' | 'secrets' | 'disabledAt'>

function withIdentity({ client, secret }: Registered, given: ClientIdentity): Registered {
  if ('secrets' in given) return { kind: 'registered', client: { ...client, ...given }, secret: null }
  const secrets = client.secrets.map((each) => ({ ...each, secretHash: hashSecret(given.secret) }))
  return { kind: 'registered', client: { ...client, id: given.id, secrets }, secret: secret === null ? null : given.secret }
}

/**
 * Changes the metadata of a client. Simultaneous changes of other properties are kept. `changesOf` may be called more than once; its error
 * stops the change.
 */
export async function updateClient(
  store: ClientRecords,
  clientId: string,
  changesOf: (present: Client) => Partial<Client>,
  at: number,
): Promise<ClientChange> {
  const keys = await store.keys.listKeys()
  let faults: ClientFault[] = []
  const client = await store.clients.changeClient(clientId, (present) => {
    const changed = changeClient(present, changesOf(present))
    faults = [...clientFaults(changed), ...signingFaults(changed, keys, at)]
    return faults.length > 0 ? present : changed
  })
  if (client === null) return { kind: 'unknown' }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'changed', client }
}

export type SecretRotation =
  | { kind: 'rotated'; client: Client; secret: string }
  | { kind: 'unknown' }
  /** clients of this type, or with this authentication method, have no secret */
  | { kind: 'has_no_secret'; because: string }

/** Gives a client a new secret. The newest of the present ones stays valid for `overlap` seconds. */
export async function rotateSecret(
  { clients }: Pick<Store, 'clients'>,
  clientId: string,
  { overlap, at, accept = acceptAny }: { overlap: number; at: number; accept?: Accept },
): Promise<SecretRotation> {
  const secret = newSecret()
  let because: string | null = null
  const client = await clients.changeClient(clientId, (present) => {
    accept(present)
    because = whyNoSecret(present)
    return because === null ? rotateClientSecret(present, overlap, at, secret).client : present
  })
  if (client === null) return { kind: 'unknown' }
  return because === null ? { kind: 'rotated', client, secret } : { kind: 'has_no_secret', because }
}

function whyNoSecret({ type, authMethod }: Client): string | null {
  if (type !== 'confidential') return `${type} clients have no secret`
  return hasSecret(authMethod) ? null : `a client that authenticates by ${authMethod} has no secret`
}
