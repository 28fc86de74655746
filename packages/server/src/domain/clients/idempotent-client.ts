/**
 * Idempotent registration without a row for each key: the client id and the secret are derived from the idempotency key. A repeated
 * request finds its own client, and can send the same secret again.
 */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { macOf } from '../../protocol/keys/mac.ts'
import { hashSecret } from '../../protocol/keys/secret.ts'
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'
import { createClient } from './manage-clients.ts'
import type { ClientRegistration, Registered, RegistrationFaults } from './register-client.ts'

export type IdempotentRegistration =
  | (Registered & { isNew: boolean })
  | RegistrationFaults
  /** the key was used for a client that is registered differently now, or whose secret was rotated */
  | { kind: 'key_reused' }

export type IdempotencyKey = { key: string; callerId: string }

export async function createClientOnce(
  store: Pick<Store, 'clients' | 'keys'>,
  ring: KeyRing,
  { registration, at, idempotency }: { registration: ClientRegistration; at: number; idempotency: IdempotencyKey },
): Promise<IdempotentRegistration> {
  const { id, secret } = derive(ring, idempotency)
  const created = await createClient(store, registration, at, { id, secret })
  if (created.kind === 'faults') return created
  if (created.kind === 'registered') return { ...created, isNew: true }
  const present = created.client
  const secrets = present.secrets.map(({ secretHash }) => secretHash)
  const hasThisSecret = secrets.length === 1 && secrets[0] === hashSecret(secret)
  if (!isSame(present, created.wanted) || (secrets.length > 0 && !hasThisSecret)) return { kind: 'key_reused' }
  return { kind: 'registered', client: present, secret: hasThisSecret ? secret : null, isNew: false }
}

function derive(ring: KeyRing, { key, callerId }: IdempotencyKey): { id: string; secret: string } {
  const maker = ring.maker('mac')
  const derived = (what: string) => macOf(maker, 'idempotency key', Buffer.from(JSON.stringify([what, callerId, key])))
  const hex = derived('client id').toString('hex')
  // RFC 9562 §5.8: version 8 is for ids that a program derives in its own way.
  const id = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-')
  return { id, secret: derived('client secret').toString('base64url') }
}

/** Whether two clients have the same metadata. */
function isSame(one: Client, other: Client): boolean {
  const members = Object.keys(other) as (keyof Client)[]
  return members
    .filter((name) => name !== 'secrets' && name !== 'createdAt')
    .every((name) => JSON.stringify(one[name]) === JSON.stringify(other[name]))
}
