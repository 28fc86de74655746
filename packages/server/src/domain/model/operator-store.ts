/**
 * What the operator's commands and the background tasks need of a store, besides `request-store.ts`. The same rules apply: each method
 * is one atomic change that is safe to retry, or throws `StoreUnavailable`.
 */
import type { KeyKind, KeyRecord } from '../../protocol/keys/key-ring.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { ActivityStore } from './activity-store.ts'
import type { AuditStore } from './audit-store.ts'
import type { Changes } from './changes.ts'
import type { DraftStore } from './draft-store.ts'
import type { Incident, NodeStore } from './node-store.ts'
import type { AllSessionsPage, GrantFilter, GrantOwner } from './pages.ts'
import type { Client, Grant, Job, Operator, Resource, Session } from './records.ts'
import type { WebhookStore } from './webhook-store.ts'

export type { KeyRecord }

export interface GrantLists {
  /**
   * A page of grants, newest first unless the filter has another order. The store sorts by creation time or by id, which begins with
   * a time (`grant-id.ts`), depending on the index. Each list is read in the order of an index, so the cost of a page does not depend on
   * the length of the list.
   */
  listGrants(filter: GrantFilter): Promise<Grant[]>
  /** The number of grants of a client, or of a wallet, that have not ended; `atMost` if there are more. Expired grants are included. */
  countUnendedGrants(of: GrantOwner, atMost: number): Promise<number>
  /** The number of all grants that are stored, also of those that ended. Counts at most `atMost` rows. */
  countGrants(atMost: number): Promise<GrantCount>
}

/** `estimate`: what the database assumes for its plans. `at_least`: there are more, and no estimate. */
export type GrantCount = { number: number; kind: 'exact' | 'estimate' | 'at_least' }

export interface SessionLists {
  /** A page of the sessions of all wallets that have neither ended nor reached their absolute end, in the order of this end. */
  listAllSessions(page: AllSessionsPage): Promise<Session[]>
  /** The number of these sessions; `atMost` if there are more. */
  countSessions(at: number, atMost: number): Promise<number>
}

/** `bytes` is null if the client has no logo. */
export type ClientWithLogo = { client: Client; bytes: Uint8Array | null }

export interface ClientStore {
  insertClient(client: Client): Promise<'inserted' | 'taken'>
  replaceClient(client: Client): Promise<'replaced' | 'unknown'>
  /** Changes a record without losing a simultaneous change. `change` may be called more than once. Null for an unknown client. */
  changeClient(clientId: string, change: (client: Client) => Client): Promise<Client | null>
  /**
   * Changes a record together with the bytes of its logo, as one change. `change` may be called more than once. Null for an unknown client.
   * No other method reads or changes the bytes.
   */
  changeClientLogo(clientId: string, change: (client: Client) => ClientWithLogo): Promise<ClientWithLogo | null>
  /** The client with the bytes of its logo. Null for an unknown client. */
  readClientLogo(clientId: string): Promise<ClientWithLogo | null>
  deleteClient(clientId: string): Promise<'deleted' | 'unknown'>
  readClient(clientId: string): Promise<Client | null>
  listClients(): Promise<Client[]>
  countClients(): Promise<number>
  /** A page of all clients, sorted by id, beginning after the id `after`. */
  readClients(page: { after: string; limit: number }): Promise<Client[]>
}

/** The most resources that a store accepts, because each node keeps all of them in memory. */
export const RESOURCES_AT_MOST = 1000

export interface ResourceStore {
  /** `taken`: the URI is registered. `full`: `RESOURCES_AT_MOST` are registered. If several inserts race, the bound still holds. */
  insertResource(resource: Resource): Promise<'inserted' | 'taken' | 'full'>
  /** Changes a record without losing a simultaneous change. `change` may be called more than once. Null for an unknown resource. */
  changeResource(uri: string, change: (resource: Resource) => Resource): Promise<Resource | null>
  deleteResource(uri: string): Promise<'deleted' | 'unknown'>
  readResource(uri: string): Promise<Resource | null>
  /** All resources, sorted by URI. */
  listResources(): Promise<Resource[]>
}

export interface KeyStore {
  /** `taken`: the id exists, or the number exists within the kind, because another node was faster. */
  insertKey(key: KeyRecord): Promise<'inserted' | 'taken'>
  listKeys(): Promise<KeyRecord[]>
  /** Replaces the wrapped key `from` by `to`, the same key wrapped again. `changed`: the row no longer holds `from`, or the key is retired. */
  rewrapKey(key: Pick<KeyRecord, 'id' | 'kind'>, from: Uint8Array, to: Uint8Array): Promise<'rewrapped' | 'changed'>
  /** Marks a key as retired and deletes the key material. */
  retireKey(keyId: string, kind: KeyKind, at: number): Promise<'retired' | 'unknown'>
}

/**
 * The kinds of rows that are deleted some time after their end. Rows of wallets and clients are kept. `endings`: what SQLite stores for
 * `EndingStore`; PostgreSQL has no such rows.
 */
export type SweptKind =
  | 'grants'
  | 'sessions'
  | 'receipts'
  | 'keys'
  | 'spent'
  | 'pushed_requests'
  | 'approvals'
  | 'audit_writers'
  | 'nodes'
  | 'endings'

export interface CleaningStore {
  /**
   * Deletes rows whose end was at least `overFor` seconds ago, the oldest first: at most `limit` rows, or all rows whose end was in the
   * same second. A grant or a session that did not end earlier has its absolute end. The end of a receipt, a use, an approval or an
   * unspent pushed request is the expiry. The end of a spent pushed request is one hour after it was spent. The end of a key is the
   * retirement. The end of a writer of the audit trail is its last append, that of a process its last report. Of the endings, only the oldest `limit` rows are examined, and the
   * newest one is kept. The draws of a grant are deleted with the grant, and count as rows: a batch ends with the first grant that passes the limit.
   * Returns the number of deleted rows.
   */
  sweep(kind: SweptKind, of: { overFor: number; limit: number; at: number }): Promise<number>
  /**
   * Takes or renews a lease for `lifetime` seconds. One holder has the lease, until the lease expires without a renewal. A lease that ends
   * more than two lifetimes from now was written with a wrong clock and is ignored.
   */
  takeLease(name: string, holder: string, at: number, lifetime: number): Promise<'taken' | 'held'>
}

/** One restoration of the database from a backup, and when an operator confirmed the restored data. */
export type Restoration = { number: number; begunAt: number; confirmedAt: number | null }

export interface RestorationStore {
  /** Stores that a restoration begins. From now on the store is unconfirmed. */
  beginRestoration(at: number): Promise<Restoration>
  /** The latest restoration. */
  readRestoration(): Promise<Restoration | null>
  /** Ends all grants and sessions and withdraws all receipts, in batches with a time each. After an interruption, repeat the call. */
  endEverything(now: () => number): Promise<{ grants: number; sessions: number; receipts: number }>
  /** The wallets with unended sessions, grants or receipts whose shortened address (`shortenAddress`) is this one. */
  findShortened(shortened: string): Promise<Address[]>
  /**
   * The time of the last transaction that this database received before it was promoted or recovered, in epoch seconds: the earliest one of all
   * machines. null if the database does not report one, for example after a later restart.
   */
  readReplayEnd(): Promise<number | null>
  /** Stores that an operator checked the clients, secrets and keys. */
  confirmRestoration(number: number, at: number): Promise<void>
}

/** Lists of few items that rarely change. Each is one record of the store. */
export type SmallLists = { operators: Operator; jobs: Job; endings: Job; incidents: Incident }

export interface ListStore {
  readList<Name extends keyof SmallLists>(name: Name): Promise<SmallLists[Name][]>
  /**
   * Changes a list without losing a simultaneous change, and returns the new list. `change` may be called more than once, and bounds the
   * number of items. If it throws, nothing is changed.
   */
  changeList<Name extends keyof SmallLists>(
    name: Name,
    change: (items: SmallLists[Name][]) => SmallLists[Name][],
  ): Promise<SmallLists[Name][]>
}

export interface OperatorStore {
  readonly grants: GrantLists
  readonly sessions: SessionLists
  readonly clients: ClientStore
  readonly resources: ResourceStore
  readonly keys: KeyStore
  readonly cleaning: CleaningStore
  readonly lists: ListStore
  readonly restorations: RestorationStore
  readonly audit: AuditStore
  readonly webhooks: WebhookStore
  readonly drafts: DraftStore
  readonly activity: ActivityStore
  readonly nodes: NodeStore
  /** What changed since the revision `seen`. */
  readChanges(seen: number): Promise<Changes>
}
