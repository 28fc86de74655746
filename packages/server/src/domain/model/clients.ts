/**
 * The clients and their public keys, as the rest of the domain uses them. A client is registered in the store, or its id is the URL of a
 * metadata document. The folder `clients` implements both.
 */
import type { ClaimedJwt } from '@grantor/protocol/client-jwt'
import type { ReasonOf } from '../../protocol/oauth/reasons.ts'
import type { Changed } from './changes.ts'
import type { Client } from './records.ts'

/** `cause` is for the log: what a reason alone does not show, such as how a call failed. */
export type UnknownReason = { reason: ReasonOf<'invalid_client'>; cause?: string }

export type Clients = {
  /** The client, even if it is disabled, from the store or from memory: for pages about the past. Never fetches a document. */
  find(clientId: string): Promise<Client | null>
  /** The client as stored, read at most once a second; or from a document, which may be a day old if it cannot be fetched. */
  findStored(clientId: string, network: string | null): Promise<Client | null>
  /**
   * The client; null if no client has this id or the client is disabled. May fetch a document: `network` is the network of the caller who
   * named the id, for its budget of fetches; null if a sealed value names the id.
   */
  findEnabled(clientId: string, network: string | null): Promise<Client | null> | Client | null
  /** The client; null unless it is registered in the store and enabled. */
  findRegistered(clientId: string): Promise<Client | null> | Client | null
  /** Whether tokens of this client are still accepted. Never fetches a document. */
  isEnabled(clientId: string): Promise<boolean> | boolean
  /** The client if it is in memory. After `find`, every registered client is. */
  findCached(clientId: string): Client | undefined
  /** Why the last look-up of this id found no client. */
  whyUnknown(clientId: string): UnknownReason
  /** Whether scripts of this origin may read the token endpoint's responses. */
  isPublicOrigin(origin: string): Promise<boolean>
  /** Removes the clients with these ids, which have changed, from memory. */
  forget(changed: Changed): void
}

/** `unusable`: the key that the JWT names breaks a rule of `public-jwk.ts`. */
export type KeyVerdict = 'holds' | 'none' | 'unusable'

export type ClientKeyCheck = {
  /**
   * Checks whether one of the client's keys signed the JWT. Without a client, one signature is checked all the same. `network` is the
   * network of the caller, which a fetch of keys counts for. Throws `temporarily_unavailable` if keys are needed that cannot be fetched.
   */
  check(client: Client | null, jwt: ClaimedJwt, network: string): Promise<KeyVerdict>
}
