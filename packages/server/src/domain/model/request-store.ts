/**
 * What requests need of a store. Each method is one atomic change that is safe to retry. The promise settles only after the commit is
 * durable. A method returns the outcome as a value, and throws `StoreUnavailable` if the store cannot be read or written; the caller
 * must never treat that error as an outcome.
 */
import type { Address } from '../../protocol/wallet/address.ts'
import type { ApprovalStore } from './approval-store.ts'
import type { DrawStore } from './draw-store.ts'
import type { EndingStore } from './ending-store.ts'
import type { RestorationStore } from './operator-store.ts'
import type { ReceiptPage, SessionPage, UnendedPage } from './pages.ts'
import type { EndReason, Grant, Receipt, Session } from './records.ts'

/**
 * The most seconds by which the time of a change may be earlier than the time stored by the previous change, if no clock jumped. A
 * change can wait two seconds for the database, and both times are rounded to whole seconds. So if two refreshes are sent through
 * two nodes, the first one may be committed last.
 */
export const LATE_BY_AT_MOST = 3

/** The grant that the redemption of a code creates. */
export type NewGrant = Omit<
  Grant,
  'createdAt' | 'generation' | 'rotatedAt' | 'endedAt' | 'endReason' | 'revokedTokens' | 'drawn'
> & {
  epoch: number
}

export type RedeemOutcome =
  /** this attempt redeemed the code, now or in an earlier try whose result was lost */
  | { kind: 'redeemed'; grant: Grant }
  /** another attempt redeemed or spent the code, or the grant has ended; the row is unchanged */
  | { kind: 'taken'; grant: Grant }
  /** since the code was issued, the wallet's epoch was raised or the session ended; the new grant was created as ended */
  | { kind: RedemptionRefusal }

export type RedemptionRefusal = 'epoch_raised' | 'session_ended'

/**
 * If the same wallet signs in again in the same browser, for example in another tab, the new session replaces the session of a code,
 * and the code stays valid. A redemption follows at most this many replacements.
 */
export const REPLACED_AT_MOST = 10

export type Rotation = {
  grantId: string
  clientId: string
  /** the generation of the refresh token that was presented */
  generation: number
  /** the key that the new refresh token is derived from */
  refreshKeyId: string
  /** when the new refresh token expires without use; the store limits this to the end of the grant */
  refreshExpiresAt: number
  /** for this many seconds a retry with the previous token gets the same new token; 0 disables retries */
  retryWindow: number
  /** each of these must have been granted for the resource; empty if the request names no scope */
  scopes: string[]
  /** the scopes that the client may have now; at least one must have been granted for the resource */
  clientScopes: string[]
  /** the resource that the request names, if any */
  resources: string[]
  /** true if the caller has just checked the receipts of a contract wallet */
  walletChecked: boolean
  /** RFC 7638 thumbprint of the key of the request's DPoP proof; null without a proof */
  dpopJkt: string | null
  /** true if the refresh token stays the same (FAPI 2.0 Security Profile §5.3.2.1): only the expiry is extended */
  keepsToken?: boolean
  /** true if the store only checks whether the token can be rotated; a replay still ends the grant */
  onlyChecks?: boolean
  attemptId: string
  at: number
}

export type RotateOutcome =
  /** this attempt rotated the token, now or in an earlier try whose result was lost; or kept the token, if `keepsToken` */
  | { kind: 'rotated'; grant: Grant }
  /** the previous token was presented again within the retry window, and the new token is unused; the row is unchanged */
  | { kind: 'repeated'; grant: Grant }
  /** an older token was presented, or the previous one after the retry window; this call ended the grant */
  | { kind: 'replayed'; grant: Grant }
  /** the token is authentic but newer than the row, so the store lost a write; this call ended the grant */
  | { kind: 'newer_than_row'; grant: Grant }
  /** the receipts of a contract wallet must be checked first; the row is unchanged */
  | { kind: 'wallet_unchecked'; grant: Grant }
  /** only for `onlyChecks`: without it, the token would be rotated or repeated now; the row is unchanged */
  | { kind: 'may_rotate'; grant: Grant }
  /** the token is bound to another key (RFC 9449 §5); the row is unchanged */
  | { kind: 'wrong_key' }
  | { kind: 'no_scope_left' | 'scope_not_granted' | 'resource_not_granted' | 'ended' | 'expired' | 'unknown' | 'foreign' }

export type SpendOutcome = 'spent' | 'spent_before'

/** `grant_ended`: this call ended the grant, because it has too many revoked tokens. After the outcomes `…_before` nothing was written. */
export type RevokeTokenOutcome = 'revoked' | 'revoked_before' | 'grant_ended' | 'grant_ended_before' | 'foreign' | 'unknown'

/** What decides whether the access tokens of a grant are still valid. */
export type GrantValidity = Pick<Grant, 'clientId' | 'expiresAt' | 'endedAt' | 'revokedTokens' | 'signedLimit' | 'drawn'>

/** The number of unexpired access tokens of one grant that can be revoked one by one. */
export const REVOKED_AT_MOST = 64

export interface GrantStore {
  /**
   * Creates the grant under the grant id of the code. If several attempts race, exactly one returns `redeemed`, and the others return
   * `taken`. If the result of that attempt was lost, the repeated attempt returns `redeemed` again. An ending for the wallet cannot miss
   * a redemption: either the redemption reads the raised epoch, or the ending finds the new grant. Likewise, either the redemption
   * reads that the session has ended, or a listing after the end of the session contains the new grant.
   *
   * If this method throws, another attempt can still redeem the code, unless the write was committed and only the result was lost.
   */
  redeemCode(grant: NewGrant, attemptId: string, at: number): Promise<RedeemOutcome>
  /** Inserts an ended grant under the code's grant id, so that the code can never be redeemed. An existing grant is not changed. */
  spendCode(grant: NewGrant, attemptId: string, at: number): Promise<void>
  /** One atomic step on one row. `RotateOutcome` lists how races end. */
  rotateRefreshToken(rotation: Rotation): Promise<RotateOutcome>
  /** Ends a grant. The first reason is kept. Returns `foreign` if `clientId` is given and the grant belongs to another client. */
  endGrant(
    grantId: string,
    reason: EndReason,
    at: number,
    clientId?: string,
  ): Promise<'ended' | 'ended_before' | 'foreign' | 'unknown'>
  /**
   * Stores that one access token is revoked, until `expiresAt`, and deletes expired entries. Beyond `REVOKED_AT_MOST` entries the grant ends instead. If the
   * answer to the first attempt was lost, a later attempt returns `revoked_before` or `grant_ended_before`.
   */
  revokeAccessToken(token: {
    grantId: string
    clientId: string
    jti: string
    expiresAt: number
    at: number
  }): Promise<RevokeTokenOutcome>
  /** Null if the code of this grant was neither redeemed nor spent. */
  readGrant(grantId: string): Promise<Grant | null>
  /** As `readGrant`, for the most frequent read: an introspection needs no more of a grant. */
  readGrantValidity(grantId: string): Promise<GrantValidity | null>
  /**
   * A page of the grants of a wallet that have not ended; expired grants are included. Sorted by client, then newest first. An index
   * holds only these grants, so the cost of a page does not depend on the number of ended grants.
   */
  listUnendedGrants(page: UnendedPage): Promise<Grant[]>
  /** Ends those of the grants that have not ended. Returns the ids that this attempt ended, now or in an earlier try whose result was lost. */
  endGrants(ids: readonly string[], ending: { reason: EndReason; attemptId: string; at: number }): Promise<string[]>
}

export type WalletState = {
  epoch: number
  /** true if the address has signed with its own key; from then on the address is never treated as a contract */
  provedItself: boolean
}

export interface WalletStore {
  readWallet(wallet: Address): Promise<WalletState>
  /** 0 for an unknown wallet. */
  readEpoch(wallet: Address): Promise<number>
  /** Stores that the address has signed with its own key. Returns the epoch of the wallet. */
  rememberProof(wallet: Address): Promise<number>
  /**
   * A page of the wallets whose address begins with `prefix`: `0x` and at least one hexadecimal digit, in lower case. Sorted by the digits, whatever their case. `after` is
   * the last address of the previous page, or empty.
   */
  findWallets(search: { prefix: string; limit: number; after: string }): Promise<Address[]>
  /** Raises the epoch, which voids all earlier codes and logins of the wallet. Returns the new epoch. */
  raiseEpoch(wallet: Address): Promise<number>
}

export interface SessionStore {
  /** Makes a login work once: if several calls with the same hash race, exactly one starts the session. */
  startSession(session: Session, attemptId: string): Promise<'started' | 'taken'>
  readSession(hash: string): Promise<Session | null>
  /** Stores when the session was last used. An ended session stays ended. */
  touchSession(hash: string, at: number): Promise<void>
  /** If several attempts race, exactly one returns `ended`. If the result was lost, the repeated attempt returns `ended` again. */
  endSession(hash: string, attemptId: string, at: number): Promise<'ended' | 'ended_before'>
  /** Ends a session that a new session, with the hash `by`, replaces. An ended session is not changed. */
  replaceSession(hash: string, by: string, at: number): Promise<void>
  /** Ends these sessions. Returns the hashes that this attempt ended, now or in an earlier try whose result was lost. */
  endSessions(hashes: readonly string[], attemptId: string, at: number): Promise<string[]>
  /** A page of the sessions of a wallet that have neither ended nor reached their absolute end, newest first. */
  listSessions(wallet: Address, page: SessionPage): Promise<Session[]>
}

export interface ReceiptStore {
  /**
   * Inserts one receipt per signed text: if several calls race, exactly one inserts the receipt. If the result was lost, the
   * repeated call returns `inserted` again, unless the receipt was withdrawn since. `sealed` is unique to a request and identifies
   * the repeated call.
   *
   * `ended`: the wallet's epoch has changed, and nothing is inserted. The insert itself compares the epoch. So an ending, which raises
   * the epoch and then withdraws receipts, misses no receipt, even if the inserting node fails immediately.
   */
  insertReceipt(receipt: Receipt, epoch: number): Promise<'inserted' | 'taken' | 'ended'>
  readReceipt(wallet: Address, id: string): Promise<Receipt | null>
  /** A page of a wallet's receipts, either the valid or the withdrawn ones: sorted by client, then newest first. */
  listReceipts(wallet: Address, page: ReceiptPage): Promise<Receipt[]>
  /** Withdraws these receipts of a wallet. The time of the first withdrawal is kept. */
  withdrawReceipts(wallet: Address, ids: readonly string[], at: number): Promise<void>
  withdrawReceipt(wallet: Address, id: string, at: number): Promise<void>
  /** Deletes these receipts of a wallet. The caller must not delete a receipt whose challenge can still be used. */
  deleteReceipts(wallet: Address, ids: readonly string[]): Promise<void>
  /** Stores that the signature of a contract wallet was checked and is valid. */
  noteReceiptCheck(wallet: Address, id: string, at: number): Promise<void>
}

/** What can be spent once: a client assertion (RFC 7523) or a DPoP proof (RFC 9449). */
export type SpentKind = 'assertion' | 'dpop'

export interface SpentStore {
  /**
   * If several uses of one hash race, also on several nodes, exactly one returns `spent`. If the
   * result was lost, the repeated attempt returns `spent` again. `hash` identifies what is spent, for example a SHA-256 of the client id and the `jti`.
   * The use is remembered until one hour after `expiresAt`.
   */
  spend(use: { kind: SpentKind; hash: string; expiresAt: number; attemptId: string }): Promise<SpendOutcome>
  /**
   * Stores that a token without a grant was revoked, for the longest lifetime of a token. `hash` is a SHA-256 of the client id and the `jti`.
   * Races and retries end as those of `spend`. The feed of endings shows the revocation to the readers of `resource`; to all readers if absent.
   */
  revokeClientToken(token: {
    hash: string
    attemptId: string
    at: number
    clientId: string
    resource?: string
  }): Promise<SpendOutcome>
  /** `access_token`: whether a token without a grant was revoked. */
  readSpent(kind: SpentKind | 'access_token', hash: string): Promise<boolean>
  /** Resolves once a use that was read is durable. For a caller that acknowledges the use. */
  confirmSpent(hash: string): Promise<void>
}

/** A pushed authorization request (RFC 9126). The requests of devices (RFC 8628), and the answers to them, have the same form. */
export type PushedRequest = {
  /** 256 random bits, the last part of the `request_uri`; for a device see `domain/tokens/device-code.ts` */
  id: string
  clientId: string
  /** the parameters, sealed */
  request: string
  expiresAt: number
  spentAt: number | null
}

export interface PushedRequestStore {
  /** If the id exists, the stored request stays. */
  push(request: Omit<PushedRequest, 'spentAt'>): Promise<void>
  /** Null for an unknown id. An expired or spent request may still be returned. */
  readPushed(id: string): Promise<PushedRequest | null>
  /** If several attempts race, exactly one returns `spent`. If the result was lost, the repeated attempt returns `spent` again. */
  spendPushed(id: string, attemptId: string, at: number): Promise<'spent' | 'spent_before' | 'unknown'>
}

export interface RequestStore {
  readonly grants: GrantStore
  readonly wallets: WalletStore
  readonly sessions: SessionStore
  readonly receipts: ReceiptStore
  readonly spent: SpentStore
  readonly pushedRequests: PushedRequestStore
  readonly endings: EndingStore
  readonly approvals: ApprovalStore
  readonly draws: DrawStore
  readonly restorations: Pick<RestorationStore, 'readRestoration'>
  /** Increases with every change of a client, a key or a resource, so that each node notices the change within a second. */
  readRevision(): Promise<number>
  /**
   * For a caller that acknowledges what it has only read, such as that nothing is left to end: the methods above confirm what they return.
   * To be called before the first read. The returned function resolves once everything that was read since is durable. It throws
   * `StoreUnavailable` if another server took over since the first read, because that server may lack what was read.
   */
  startReading(): Promise<() => Promise<void>>
  /** Throws if the store does not accept writes now. Leaves no row. */
  checkWritable(): Promise<void>
  /** Throws if a sign-in could not be stored now. */
  checkSignIn(): Promise<void>
}
