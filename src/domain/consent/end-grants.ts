/**
 * Ends grants, sessions and receipts. Sessions and receipts allow new codes, so they end first, between two raises of the wallet's
 * epoch. The second raise voids all earlier codes. After that, only the grants that exist at this moment must end. Clocks play no part.
 *
 * An ending is acknowledged after `store.confirm()`: rows that an earlier ending ended are not on the pages that it reads, and on
 * PostgreSQL a synchronous standby may not have them.
 */
import { randomUUID } from 'node:crypto'
import type { Address } from '../../wallet/address.ts'
import type { Deps, RelyingClient } from '../model/deps.ts'
import { pagesOf, selected } from '../model/pages.ts'
import type { EndReason, Grant, Receipt, Session } from '../model/records.ts'
import type { RequestStore } from '../model/request-store.ts'
import type { Store } from '../model/store.ts'

/**
 * Ends sessions or receipts of a wallet between two raises of the wallet's epoch.
 *
 * After the first raise: if a redemption, a proof or a login inserts a row that the ending misses, then the raised epoch is
 * read after the insert. After the second raise: if an authorization request read a session or receipt before the end, the code is void.
 */
async function endForWallet<Ended>({ wallets }: RequestStore, wallet: Address, endRows: () => Promise<Ended>): Promise<Ended> {
  await wallets.raiseEpoch(wallet)
  const ended = await endRows()
  await wallets.raiseEpoch(wallet)
  return ended
}

/** A wallet at one client, or at all clients. */
type WalletAtClient = { wallet: Address; clientId?: string | undefined }

function unendedGrants({ grants }: RequestStore, of: WalletAtClient): AsyncGenerator<Grant[]> {
  return pagesOf((page) => grants.listUnendedGrants({ ...of, ...page }))
}

function validReceipts({ receipts }: RequestStore, { wallet, clientId }: WalletAtClient): AsyncGenerator<Receipt[]> {
  return pagesOf((page) => receipts.listReceipts(wallet, { clientId, ...page }))
}

type GrantsEnding = { reason: EndReason; at: number; note?: (grants: Grant[]) => void }

/** Ends the grants of these pages, page by page. Returns how many grants ended. */
async function endPages(
  { grants }: RequestStore,
  pages: AsyncGenerator<Grant[]>,
  { note, ...ending }: GrantsEnding,
): Promise<number> {
  let ended = 0
  for await (const page of pages) {
    note?.(page)
    const ids = page.map(({ id }) => id)
    ended += (await grants.endGrants(ids, { ...ending, attemptId: randomUUID() })).length
  }
  return ended
}

async function withdrawPages(
  { receipts }: RequestStore,
  wallet: Address,
  pages: AsyncGenerator<Receipt[]>,
  at: number,
): Promise<void> {
  for await (const page of pages) {
    const ids = page.map(({ id }) => id)
    await receipts.withdrawReceipts(wallet, ids, at)
  }
}

/** Withdraws the receipts and ends the grants of a wallet, for one client or for all. Returns how many grants ended. */
export async function endAllowed(store: RequestStore, of: WalletAtClient, reason: EndReason, at: number): Promise<number> {
  // A valid receipt would allow the next code without a new signature.
  await endForWallet(store, of.wallet, () => withdrawPages(store, of.wallet, validReceipts(store, of), at))
  const ended = await endPages(store, unendedGrants(store, of), { reason, at })
  await store.confirm()
  return ended
}

/** The same for an operator. Returns how many grants ended. */
export function endGrantsOfWallet(
  store: RequestStore,
  wallet: Address,
  clientId: string | undefined,
  at: number,
): Promise<number> {
  return endAllowed(store, { wallet, clientId }, 'operator', at)
}

export type Ending = Pick<Deps, 'store' | 'now' | 'audit' | 'announceEnded'>

/** Ends all sessions and grants and withdraws all receipts of a wallet. */
export async function endEverything(deps: Ending, wallet: Address): Promise<void> {
  const { store } = deps
  const at = deps.now()
  const hashes = await endForWallet(store, wallet, () => endSessions(deps, wallet, () => true))
  const relying: RelyingClients = new Map()
  try {
    const note = (grants: Grant[]) => noteRelying(relying, grants, at)
    await endPages(store, unendedGrants(store, { wallet }), { reason: 'user', at, note })
  } finally {
    announce(deps, wallet, relying, hashes)
  }
  // The receipts can be withdrawn last: no session is left that could use them to get a code.
  await withdrawPages(store, wallet, validReceipts(store, { wallet }), at)
  await store.confirm()
  deps.audit({ event: 'everything_ended', wallet })
}

/** Signs a browser out. Grants stay valid. Codes of the session are void, because the redemption reads the session. */
export async function endSession(deps: Ending, { wallet, hash }: Pick<Session, 'wallet' | 'hash'>): Promise<void> {
  const { store, now } = deps
  const end = async () => ((await store.sessions.endSession(hash, randomUUID(), now())) === 'ended' ? [hash] : [])
  const ended = await endAndAnnounce(deps, wallet, end)
  if (ended.length > 0) deps.audit({ event: 'session_ended', wallet })
}

/** Ends all other sessions of a wallet, and all pending logins, which would become sessions. */
export async function endOtherSessions(deps: Ending, { wallet, hash: own }: Pick<Session, 'wallet' | 'hash'>): Promise<void> {
  const end = () => endSessions(deps, wallet, ({ hash }) => hash !== own)
  await endAndAnnounce(deps, wallet, () => endForWallet(deps.store, wallet, end))
  await deps.store.confirm()
  deps.audit({ event: 'other_sessions_ended', wallet })
}

/** Ends the sessions of a wallet that `isWanted` selects, page by page. Returns the hashes of the sessions that this call ended. */
export async function endSessions(
  { store: { sessions }, now }: Pick<Deps, 'store' | 'now'>,
  wallet: Address,
  isWanted: (session: Session) => boolean,
): Promise<string[]> {
  const hashes: string[] = []
  const pages = pagesOf<Session>((page) => sessions.listSessions(wallet, { at: now(), ...page }))
  for await (const page of selected(pages, isWanted)) {
    const wanted = page.map(({ hash }) => hash)
    hashes.push(...(await sessions.endSessions(wanted, randomUUID(), now())))
  }
  return hashes
}

/** Ends sessions of a wallet, and notifies the clients that have grants from these sessions. Returns the hashes of the sessions. */
export async function endAndAnnounce(deps: Ending, wallet: Address, end: () => Promise<string[]>): Promise<string[]> {
  const relying: RelyingClients = new Map()
  const noteGrants = async (): Promise<void> => {
    for await (const page of unendedGrants(deps.store, { wallet })) noteRelying(relying, page, deps.now())
  }
  // The grants are read before the sessions end. `endEverything` ends sessions before grants, so if two endings race, the one that ends
  // the session also finds its grants.
  await noteGrants()
  const hashes = await end()
  // The grants are read again afterwards: a code may have been redeemed in between.
  await noteGrants()
  announce(deps, wallet, relying, hashes)
  return hashes
}

/** The clients that have a grant from a session. The key consists of the client id and the session's hash. */
type RelyingClients = Map<string, RelyingClient>

function noteRelying(relying: RelyingClients, grants: Grant[], at: number): void {
  for (const { clientId, sessionHash, refreshExpiresAt } of grants) {
    if (sessionHash !== null && refreshExpiresAt > at) relying.set(`${clientId} ${sessionHash}`, { clientId, sessionHash })
  }
}

function announce(deps: Pick<Deps, 'announceEnded'>, wallet: Address, relying: RelyingClients, hashes: string[]): void {
  const ended = new Set(hashes)
  const clients = [...relying.values()].filter(({ sessionHash }) => ended.has(sessionHash))
  if (clients.length > 0) deps.announceEnded({ wallet, clients })
}

/**
 * Withdraws older receipts and ends grants of a wallet at an app, if they include a scope that the user declined in the new receipt.
 * `epoch` is the wallet's epoch before.
 *
 * Returns the wallet's epoch afterwards; null if another ending happened meanwhile.
 */
export async function endDeclined(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  { wallet, clientId, id }: Receipt,
  declined: string[],
  epoch: number,
): Promise<number | null> {
  const at = now()
  const hasDeclined = ({ scopes }: { scopes: string[] }): boolean => scopes.some((scope) => declined.includes(scope))
  const older = () => selected(validReceipts(store, { wallet, clientId }), (receipt) => receipt.id !== id && hasDeclined(receipt))
  const grants = () =>
    selected(unendedGrants(store, { wallet, clientId }), (grant) => grant.refreshExpiresAt > at && hasDeclined(grant))
  const isNone = (await older().next()).done && (await grants().next()).done
  if (isNone) return (await store.wallets.readEpoch(wallet)) === epoch ? epoch : null

  const raised = await store.wallets.raiseEpoch(wallet)
  await withdrawPages(store, wallet, older(), at)
  const raisedAgain = await store.wallets.raiseEpoch(wallet)
  await endPages(store, grants(), { reason: 'user', at })
  return raised === epoch + 1 && raisedAgain === epoch + 2 ? raisedAgain : null
}

/** Ends one grant for an operator. */
export async function endOneGrant(
  store: RequestStore,
  grantId: string,
  at: number,
): Promise<'ended' | 'ended_before' | 'unknown'> {
  const outcome = await store.grants.endGrant(grantId, 'operator', at)
  return outcome === 'foreign' ? 'unknown' : outcome
}

/**
 * Ends all grants of a client, oldest first, so that grants that are created meanwhile end too. Yields how many grants ended after each
 * page, so that the caller can report the progress and stop.
 *
 * The second pass ends the grants of codes that were issued before the first pass and redeemed behind it: on SQLite the list is sorted by
 * id, and the id of a grant is as old as the code.
 */
export async function* endGrantsOfClient(
  store: Store,
  clientId: string,
  ending: { reason: EndReason; at: number },
): AsyncGenerator<number> {
  for (const _ of ['first pass', 'second pass']) {
    const unended = pagesOf<Grant>((page) => store.grants.listGrants({ clientId, unended: true, order: 'oldest', ...page }))
    for await (const page of unended) {
      const ids = page.map(({ id }) => id)
      yield (await store.grants.endGrants(ids, { ...ending, attemptId: randomUUID() })).length
    }
  }
  await store.confirm()
}

/**
 * Deletes a client permanently. The client is disabled first, so from then on no code can be redeemed and no token refreshed. Yields how
 * many grants ended after each page. If the caller stops, the client stays disabled, and the call can be repeated.
 */
export async function* deleteClient(store: Store, clientId: string, at: number): AsyncGenerator<number> {
  await store.clients.changeClient(clientId, (present) => ({ ...present, disabledAt: present.disabledAt ?? at }))
  yield* endGrantsOfClient(store, clientId, { reason: 'client_deleted', at })
  await store.clients.deleteClient(clientId)
}
