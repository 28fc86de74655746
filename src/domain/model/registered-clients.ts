/** The registered clients and their public keys, as the rest of the domain uses them. The folder `clients` implements both. */
import type { ClaimedJwt } from '../../keys/client-jwt.ts'
import type { Changed } from './changes.ts'
import type { Client } from './records.ts'

export type RegisteredClients = {
  /** The client, even if it is disabled; null if no client has this id. */
  find(clientId: string): Promise<Client | null>
  /** Reads the client from the store, at most once a second. */
  findAnew(clientId: string): Promise<Client | null>
  /** The client; null if no client has this id or the client is disabled. */
  findEnabled(clientId: string): Promise<Client | null> | Client | null
  /** The client if it is in memory. After `find`, every registered client is. */
  known(clientId: string): Client | undefined
  /** Whether scripts of this origin may read the token endpoint's responses. */
  isPublicOrigin(origin: string): Promise<boolean>
  /** Forgets the clients with these ids, which have changed. */
  forget(changed: Changed): void
}

/** `unusable`: the key that the JWT names breaks a rule of `public-jwk.ts`. `unavailable`: the keys cannot be fetched. */
export type KeyVerdict = 'holds' | 'none' | 'unusable' | 'unavailable'

export type ClientKeyCheck = {
  /** Checks whether one of the client's keys signed the JWT. Without a client, one signature is checked all the same. */
  check(client: Client | null, jwt: ClaimedJwt): Promise<KeyVerdict>
}
