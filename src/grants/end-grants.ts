/**
 * Endings. Sessions and receipts allow new codes, so they end first, between two raises of the wallet's epoch. The second raise
 * voids every code that was issued before it. So the grants that exist at that moment are all that remains to be ended. No
 * clock decides.
 */
import { randomUUID } from 'node:crypto'
import { type Address, shortenAddress } from '../wallet/address.ts'
import type { Deps, RelyingClient } from './deps.ts'
import type { Client, EndReason, Grant, Receipt, Session } from './model.ts'
import { pagesOf, selected } from './pages.ts'
import type { Store } from './ports.ts'

/**
 * Ends sessions or receipts of a wallet between two raises of its epoch.
 *
 * After the first raise, a redemption, proof or login that adds a row which the ending misses notices by the epoch that it
 * reads after its insert. After the second raise, an authorization request that read a row before it ended has made a code
 * that no longer counts.
 */
async function endForWallet<Ended>({ wallets }: Store, wallet: Address, endRows: () => Promise<Ended>): Promise<Ended> {
  await wallets.raiseEpoch(wallet)
  const ended = await endRows()
  await wallets.raiseEpoch(wallet)
  return ended
}

type Whose = { wallet: Address; clientId?: string | undefined }

function unendedGrants({ grants }: Store, of: Whose): AsyncGenerator<Grant[]> {
  return pagesOf((page) => grants.listUnendedGrants({ ...of, ...page }))
}

function standingReceipts({ receipts }: Store, { wallet, clientId }: Whose): AsyncGenerator<Receipt[]> {
  return pagesOf((page) => receipts.listReceipts(wallet, { clientId, ...page }))
}

type GrantsEnding = { reason: EndReason; at: number; note?: (grants: Grant[]) => void }

/** Ends the grants of these pages, each page in one step. Returns how many grants ended. */
async function endPages({ grants }: Store, pages: AsyncGenerator<Grant[]>, { note, ...ending }: GrantsEnding): Promise<number> {
  let ended = 0
  for await (const page of pages) {
    note?.(page)
    const ids = page.map(({ id }) => id)
    ended += (await grants.endGrants(ids, { ...ending, attemptId: randomUUID() })).length
  }
  return ended
}

async function withdrawPages({ receipts }: Store, wallet: Address, pages: AsyncGenerator<Receipt[]>, at: number): Promise<void> {
  for await (const page of pages) {
    const ids = page.map(({ id }) => id)
    await receipts.withdrawReceipts(wallet, ids, at)
  }
}

/** Ends what a wallet allowed, to one client or to all, and withdraws what it signed for it. Returns how many grants ended. */
export async function endAllowed(store: Store, of: Whose, reason: EndReason, at: number): Promise<number> {
  // Otherwise a signed consent that still holds would allow the next code without a question.
  await endForWallet(store, of.wallet, () => withdrawPages(store, of.wallet, standingReceipts(store, of), at))
  return endPages(store, unendedGrants(store, of), { reason, at })
}

/** What an operator ends of a wallet. Returns how many grants ended. */
export function endGrantsOfWallet(store: Store, wallet: Address, clientId: string | undefined, at: number): Promise<number> {
  return endAllowed(store, { wallet, clientId }, 'operator', at)
}

export type Ending = Pick<Deps, 'store' | 'now' | 'audit' | 'announceEnded'>

/** Ends all of a wallet: every session, what it allowed to any app, and what it signed. */
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
  // The receipts may stand until here: no session is left that could get a code by them.
  await withdrawPages(store, wallet, standingReceipts(store, { wallet }), at)
  deps.audit({ event: 'everything_ended', wallet: shortenAddress(wallet) })
}

/** Signs a browser out. What apps were allowed stays allowed. Codes of the session are void: redemption reads its state. */
export async function endSession(deps: Ending, { wallet, hash }: Pick<Session, 'wallet' | 'hash'>): Promise<void> {
  const { store, now } = deps
  const end = async () => ((await store.sessions.endSession(hash, randomUUID(), now())) === 'ended' ? [hash] : [])
  await endAndAnnounce(deps, wallet, end)
  deps.audit({ event: 'session_ended' })
}

/** Ends all sessions of a wallet but this one, and every login under way, which would be another session in a moment. */
export async function endOtherSessions(deps: Ending, { wallet, hash: own }: Pick<Session, 'wallet' | 'hash'>): Promise<void> {
  const end = () => endSessions(deps, wallet, ({ hash }) => hash !== own)
  await endAndAnnounce(deps, wallet, () => endForWallet(deps.store, wallet, end))
  deps.audit({ event: 'other_sessions_ended' })
}

/** Ends those sessions of a wallet that `isWanted` selects, page by page. Returns the hashes of the sessions that this call ended. */
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

/** Ends sessions of a wallet, and notifies the clients that have a grant from them. Returns the hashes of the sessions. */
export async function endAndAnnounce(deps: Ending, wallet: Address, end: () => Promise<string[]>): Promise<string[]> {
  const relying: RelyingClients = new Map()
  const noteGrants = async (): Promise<void> => {
    for await (const page of unendedGrants(deps.store, { wallet })) noteRelying(relying, page, deps.now())
  }
  // Read before the sessions end. `endEverything` ends the sessions before the grants, so of two endings at once the one that ends
  // the session also finds its grants.
  await noteGrants()
  const hashes = await end()
  // Read after the sessions end too: a code that was redeemed just before gave a grant in between.
  await noteGrants()
  announce(deps, wallet, relying, hashes)
  return hashes
}

/** The clients that have a grant from a session, by client and session. */
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
 * Ends what a wallet allowed to an app before, as far as it names a scope that was switched off in a new receipt: older
 * receipts, and grants with all their tokens. `epoch` is the wallet's as it stood before.
 *
 * Returns the epoch as it stands after; null where another ending came in between.
 */
export async function endDeclined(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  { wallet, clientId, id }: Receipt,
  declined: string[],
  epoch: number,
): Promise<number | null> {
  const at = now()
  const naming = ({ scopes }: { scopes: string[] }): boolean => scopes.some((scope) => declined.includes(scope))
  const older = () => selected(standingReceipts(store, { wallet, clientId }), (receipt) => receipt.id !== id && naming(receipt))
  const grants = () =>
    selected(unendedGrants(store, { wallet, clientId }), (grant) => grant.refreshExpiresAt > at && naming(grant))
  const isNone = (await older().next()).done && (await grants().next()).done
  if (isNone) return (await store.wallets.readEpoch(wallet)) === epoch ? epoch : null

  const raised = await store.wallets.raiseEpoch(wallet)
  await withdrawPages(store, wallet, older(), at)
  const standing = await store.wallets.raiseEpoch(wallet)
  await endPages(store, grants(), { reason: 'user', at })
  return raised === epoch + 1 && standing === epoch + 2 ? standing : null
}

/** Ends one grant, whoever allowed it. */
export async function endOneGrant(store: Store, grantId: string, at: number): Promise<'ended' | 'ended_before' | 'unknown'> {
  const outcome = await store.grants.endGrant(grantId, 'operator', at)
  return outcome === 'foreign' ? 'unknown' : outcome
}

/** Ends every grant of a client, the oldest first, so that grants made meanwhile end too. Returns how many ended. */
export async function endGrantsOfClient(store: Store, clientId: string, reason: EndReason, at: number): Promise<number> {
  const all = pagesOf<Grant>((page) => store.grants.listGrants({ clientId, order: 'oldest', at, ...page }))
  const unended = selected(all, ({ endedAt }) => endedAt === null)
  return endPages(store, unended, { reason, at })
}

/** Takes a client out of the registry for good: from the first step on it can redeem and refresh nothing more. */
export async function deleteClient(store: Store, client: Client, at: number): Promise<number> {
  await store.clients.changeClient(client.id, (present) => ({ ...present, disabledAt: present.disabledAt ?? at }))
  const ended = await endGrantsOfClient(store, client.id, 'client_deleted', at)
  await store.clients.deleteClient(client.id)
  return ended
}
