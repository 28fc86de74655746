/**
 * What the domain asks of a store. Each method is a lawful move: atomic, safe to retry, and settled only after
 * its commit is durable. A move returns what happened as a value; it throws `StoreUnavailable` when the store
 * cannot be read or written, which is never to be taken for an answer.
 */
import type { KeyKind, KeyRecord } from '../keys/key-ring.ts'
import type { Address } from '../wallet/address.ts'
import type { Changes } from './changes.ts'
import type { Client, EndReason, Grant, Receipt, Session } from './model.ts'
import type { GrantFilter, ReceiptPage, SessionPage, UnendedPage } from './pages.ts'

export { SchemaMismatch, StoreUnavailable } from './store-errors.ts'
export type { GrantFilter, KeyRecord, ReceiptPage, UnendedPage }

/**
 * By how many seconds a move's moment may be behind the one that was stored before it, without its clock having jumped:
 * a move may wait two for its turn, and both are whole seconds. So of two refreshes sent together through two nodes the
 * one that was sent first may be the one that comes last.
 */
export const LATE_BY_AT_MOST = 3

/** What a code says of the grant that its redemption creates. */
export type NewGrant = Omit<Grant, 'createdAt' | 'generation' | 'rotatedAt' | 'endedAt' | 'endReason' | 'revokedTokens'> & {
  /** the wallet's epoch when the code was issued */
  epoch: number
}

export type RedeemOutcome =
  /** by this attempt, now or before its answer was lost */
  | { kind: 'redeemed'; grant: Grant }
  /** redeemed or spent by another attempt, or ended since: the row is unchanged */
  | { kind: 'taken'; grant: Grant }
  /** the wallet ended something since the code was issued, or the code's session has ended: the grant has ended too */
  | { kind: RedemptionRefusal }

export type RedemptionRefusal = 'epoch_raised' | 'session_ended'

/**
 * A code outlives its session if the same wallet signed in again in the same browser, as from another tab: then the session
 * that replaced it counts. So many replacements are followed within the life of a code.
 */
export const REPLACED_AT_MOST = 10

export type Rotation = {
  grantId: string
  clientId: string
  /** the generation of the refresh token that was presented */
  generation: number
  /** key the successor is derived with */
  refreshKeyId: string
  /** end of the successor's idle time; the store caps it at the grant's absolute end */
  refreshExpiresAt: number
  /** retries with the previous token get the same successor for this many seconds; 0 turns it off */
  retryWindow: number
  /** every one of these must have been granted; empty when the request named none */
  scopes: string[]
  /** what the client is registered for now; one of these must have been granted, or nothing is left to issue */
  clientScopes: string[]
  resources: string[]
  /** whether the caller has just checked that a contract wallet's receipt still holds */
  walletChecked: boolean
  /** RFC 7638 thumbprint of the key whose proof came along; null for none */
  dpopJkt: string | null
  /** the token stays the one it is (FAPI 2.0 Security Profile §5.3.2.1): checked by the same condition, and only its idle time begins anew */
  keepsToken?: boolean
  attemptId: string
  at: number
}

export type RotateOutcome =
  /** the row moved one generation on, by this attempt (now, or before a lost connection); or its token was kept, as asked */
  | { kind: 'rotated'; grant: Grant }
  /** the previous token again, inside the window, its successor unused: the row is unchanged */
  | { kind: 'repeated'; grant: Grant }
  /** an older token, or the previous one outside the window: the grant has been ended by this move */
  | { kind: 'replayed'; grant: Grant }
  /** a genuine token newer than its row: the store lost a write; the grant has been ended by this move */
  | { kind: 'newer_than_row'; grant: Grant }
  /** a contract wallet's grant, which moves on only when its receipt was checked: the row is unchanged */
  | { kind: 'wallet_unchecked'; grant: Grant }
  /** bound to another key than the caller's (RFC 9449 §5), who is nobody to this grant: the row is unchanged */
  | { kind: 'wrong_key' }
  | { kind: 'no_scope_left' | 'scope_not_granted' | 'resource_not_granted' | 'ended' | 'expired' | 'unknown' | 'foreign' }

export type SpendOutcome = 'spent' | 'spent_before'

export type RevokeTokenOutcome = 'revoked' | 'grant_ended' | 'foreign' | 'unknown'

export interface GrantLedger {
  /**
   * Creates the grant under the code's grant id. Of any number of simultaneous attempts exactly one reads `redeemed`; the
   * others read `taken`. The same attempt repeated after a lost answer reads `redeemed`. An ending of the wallet and a
   * redemption never miss each other: the redemption reads the new epoch, or the ending finds the grant. In the same way the
   * redemption reads that its session ended, or whoever lists the grants after the session's end finds the grant.
   *
   * If this method throws, another attempt may still redeem the code. The one exception is a last write that was made while
   * its answer was lost.
   */
  redeemCode(grant: NewGrant, attemptId: string, at: number): Promise<RedeemOutcome>
  /** Puts an ended row where the code's grant would be, so that it can never be redeemed; a living grant is not touched. */
  spendCode(grant: NewGrant, attemptId: string, at: number): Promise<void>
  /** One conditional update of one row; see `RotateOutcome` for how its races come out. */
  rotateRefreshToken(rotation: Rotation): Promise<RotateOutcome>
  /** Ends a grant; the first reason stays. `foreign` when `clientId` is given and the grant is another's. */
  endGrant(
    grantId: string,
    reason: EndReason,
    at: number,
    clientId?: string,
  ): Promise<'ended' | 'ended_before' | 'foreign' | 'unknown'>
  /** Notes one access token as revoked until it expires; forgets those expired; past 64 the grant ends instead. */
  revokeAccessToken(token: {
    grantId: string
    clientId: string
    jti: string
    expiresAt: number
    at: number
  }): Promise<RevokeTokenOutcome>
  /** Null if no attempt has redeemed or spent the code of this grant. */
  readGrant(grantId: string): Promise<Grant | null>
  /**
   * A page of grants, the newest first unless the filter says otherwise: by when they were made, or by their ids, which
   * begin with that moment (`grant-id.ts`), whichever an index finds. The same filter always uses the same order.
   */
  listGrants(filter: GrantFilter): Promise<Grant[]>
  /**
   * A page of the grants of a wallet that have not ended, whether or not they have expired: by client, and the newest first
   * within a client. An index finds them, so a page costs the same however many grants have ended.
   */
  listUnendedGrants(page: UnendedPage): Promise<Grant[]>
  /** Ends each of these grants that has not ended. Returns the ids of those that this attempt ended, now or before a lost answer. */
  endGrants(ids: readonly string[], ending: { reason: EndReason; attemptId: string; at: number }): Promise<string[]>
}

export type Wallet = {
  epoch: number
  /** it has proved itself as an ordinary wallet, and from then on never counts as a contract */
  provedItself: boolean
}

export interface WalletBook {
  readWallet(wallet: Address): Promise<Wallet>
  /** 0 for a wallet never seen. */
  readEpoch(wallet: Address): Promise<number>
  /** Remembers that the address proved itself as an ordinary wallet, and returns its epoch. */
  rememberProof(wallet: Address): Promise<number>
  /** Raises the epoch, so that every code and login of before stops counting. Returns the new one. */
  raiseEpoch(wallet: Address): Promise<number>
}

export interface SessionBook {
  /** The once-only gate of a login: of any number of calls with one hash exactly one starts the session. */
  startSession(session: Session, attemptId: string): Promise<'started' | 'taken'>
  readSession(hash: string): Promise<Session | null>
  /** Notes a visit. An ended session stays ended. */
  touchSession(hash: string, at: number): Promise<void>
  /** Of any number of attempts exactly one reads `ended`, and reads it again when it is repeated after a lost answer. */
  endSession(hash: string, attemptId: string, at: number): Promise<'ended' | 'ended_before'>
  /** Ends a session because another one took its place: `by`, its hash. An ended session stays as it is. */
  replaceSession(hash: string, by: string, at: number): Promise<void>
  /** Ends each of these sessions. Returns the hashes of those that this attempt ended, now or before a lost answer. */
  endSessions(hashes: readonly string[], attemptId: string, at: number): Promise<string[]>
  /** A page of the sessions of a wallet that have not ended and are not past their absolute end, the youngest first. */
  listSessions(wallet: Address, page: SessionPage): Promise<Session[]>
}

export interface ReceiptBook {
  /**
   * One receipt for each text a wallet signed: of any number of calls exactly one puts it. The same receipt (by what is
   * `sealed`, which no two requests have alike) put again after a lost answer reads `inserted`, until it was withdrawn.
   *
   * `ended`: the wallet's epoch is not `epoch` any more, and nothing is put. The epoch is compared in the insert itself, so an
   * ending that raises the epoch and then withdraws receipts misses none, even if the node that inserts dies at once.
   */
  insertReceipt(receipt: Receipt, epoch: number): Promise<'inserted' | 'taken' | 'ended'>
  readReceipt(wallet: Address, id: string): Promise<Receipt | null>
  /** A page of the receipts of a wallet that stand, or of those that were withdrawn: by client, within a client the youngest first. */
  listReceipts(wallet: Address, page: ReceiptPage): Promise<Receipt[]>
  /** Withdraws each of these receipts of a wallet. The first withdrawal keeps its time. */
  withdrawReceipts(wallet: Address, ids: readonly string[], at: number): Promise<void>
  withdrawReceipt(wallet: Address, id: string, at: number): Promise<void>
  /** Notes that a contract wallet's signature was found to hold. */
  noteReceiptCheck(wallet: Address, id: string, at: number): Promise<void>
}

export interface ClientBook {
  insertClient(client: Client): Promise<'inserted' | 'taken'>
  replaceClient(client: Client): Promise<'replaced' | 'unknown'>
  /** Changes a record so that two changes at once both count. `change` may be called more than once. Null for an unknown client. */
  changeClient(clientId: string, change: (client: Client) => Client): Promise<Client | null>
  deleteClient(clientId: string): Promise<'deleted' | 'unknown'>
  readClient(clientId: string): Promise<Client | null>
  listClients(): Promise<Client[]>
  /** A page of all clients, by their ids, from the one after `after` on. */
  readClients(page: { after: string; limit: number }): Promise<Client[]>
}

export interface KeyBook {
  /** `taken` when the key's id or its number within its kind is there already: somebody else was first. */
  insertKey(key: KeyRecord): Promise<'inserted' | 'taken'>
  listKeys(): Promise<KeyRecord[]>
  /** Puts the same key, wrapped anew, in place of `from`. `changed`: the row holds something else by now, or the key is retired. */
  rewrapKey(key: Pick<KeyRecord, 'id' | 'kind'>, from: Uint8Array, to: Uint8Array): Promise<'rewrapped' | 'changed'>
  /** Marks a key retired and forgets its material. */
  retireKey(keyId: string, kind: KeyKind, at: number): Promise<'retired' | 'unknown'>
}

/** What may be used once: a client assertion (RFC 7523), a DPoP proof (RFC 9449), or, once, for being revoked: an access token without a grant. */
export type SpentKind = 'assertion' | 'dpop' | 'access_token'

export interface SpentBook {
  /**
   * Of any number of uses of one hash, on any number of nodes, exactly one is `spent`; the same attempt repeated after a
   * lost answer is `spent` too. `hash` is a SHA-256 of the client's id and the `jti`. It is remembered until an hour after `expiresAt`.
   */
  spend(use: { kind: SpentKind; hash: string; expiresAt: number; attemptId: string }): Promise<SpendOutcome>
  readSpent(kind: SpentKind, hash: string): Promise<boolean>
}

/** A pushed authorization request (RFC 9126). */
export type PushedRequest = {
  /** of 256 random bits, what stands in the `request_uri` */
  id: string
  clientId: string
  /** its parameters, as JSON */
  request: string
  expiresAt: number
  spentAt: number | null
}

export interface PushedRequestBook {
  push(request: Omit<PushedRequest, 'spentAt'>): Promise<void>
  /** Null for one never pushed. One that has expired or was spent may still be there. */
  readPushed(id: string): Promise<PushedRequest | null>
  /** Of any number of calls with one id exactly one spends it; the same attempt repeated after a lost answer reads `spent`. */
  spendPushed(id: string, attemptId: string, at: number): Promise<'spent' | 'spent_before' | 'unknown'>
}

/** Rows that leave once they are over. Those of wallets and clients do not. */
export type Leaving = 'grants' | 'sessions' | 'receipts' | 'keys' | 'spent' | 'pushed_requests'

export interface Cleaning {
  /**
   * Deletes about `limit` rows that have been over for `overFor` seconds, those longest over first: at most `limit`, or all
   * that were over in the same second. A grant or session is over by its ending or else by its absolute end, a receipt, a
   * use and an unspent pushed request by its end, a spent pushed request an hour after it was spent, a key by its
   * retirement. Returns how many rows were deleted.
   */
  sweep(kind: Leaving, of: { overFor: number; limit: number; at: number }): Promise<number>
  /**
   * Takes or renews a lease for `lifetime` seconds: of any number of holders one has it, until it expires unrenewed.
   * An end further away than two lifetimes was written by a clock that was wrong, and binds nobody.
   */
  takeLease(name: string, holder: string, at: number, lifetime: number): Promise<'taken' | 'held'>
}

/** A database that was put back from a backup, and whether somebody has confirmed what it holds. */
export type Restoration = { number: number; begunAt: number; confirmedAt: number | null }

export interface RestorationBook {
  /** Notes that one begins; from now on the store counts as unconfirmed. */
  beginRestoration(at: number): Promise<Restoration>
  /** the latest one */
  readRestoration(): Promise<Restoration | null>
  /** Ends every grant and session and withdraws every receipt there is, in batches. Broken off, it is to be repeated. */
  endEverything(at: number): Promise<{ grants: number; sessions: number; receipts: number }>
  /** Notes that somebody looked through clients, secrets and keys. */
  confirmRestoration(number: number, at: number): Promise<void>
}

export interface Store {
  readonly grants: GrantLedger
  readonly wallets: WalletBook
  readonly sessions: SessionBook
  readonly receipts: ReceiptBook
  readonly clients: ClientBook
  readonly keys: KeyBook
  readonly spent: SpentBook
  readonly pushedRequests: PushedRequestBook
  readonly cleaning: Cleaning
  readonly restorations: RestorationBook
  /** Grows with every change of a client or a key, so that each node notices within a second: `readChanges` says what it was. */
  readRevision(): Promise<number>
  readChanges(seen: number): Promise<Changes>
  /** Proves that the store takes writes now, without leaving a row. */
  checkWritable(): Promise<void>
  /** Of a store that is spread over several machines: those that do not answer at the moment, by host and port. */
  machinesAway?(): string[]
  close(): Promise<void>
}
