/**
 * Ends grants, sessions and receipts. Sessions and receipts allow new codes, so they end first, between two raises of the wallet's
 * epoch. The second raise voids all earlier codes. After that, only the grants that are older than this epoch must end. Clocks play no part.
 *
 * A grant ends when its row changes, because introspection and refresh read no other row. So the ending of a wallet with very many grants
 * takes minutes. The request then ends `ENDED_AT_ONCE` grants, and a job ends the others (`../operators/jobs.ts`).
 *
 * An ending is acknowledged once `store.startReading` confirms what the ending has read: rows that an earlier ending ended are not on the
 * pages, and on PostgreSQL a synchronous standby may not have them.
 */
import { randomUUID } from 'node:crypto'
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { Deps, RelyingClient } from '../model/deps.ts'
import { pagesOf, selected, sumOf } from '../model/pages.ts'
import type { EndReason, Grant, Job, Receipt, Session } from '../model/records.ts'
import { LATE_BY_AT_MOST, type RequestStore } from '../model/request-store.ts'
import type { Store } from '../model/store.ts'
import { endMatching } from './end-matching.ts'

/**
 * Ends sessions or receipts of a wallet between two raises of the wallet's epoch.
 *
 * After the first raise: if a redemption, a proof or a login inserts a row that the ending misses, then the raised epoch is
 * read after the insert. After the second raise: if an authorization request read a session or receipt before the end, the code is void.
 */
async function endForWallet<Ended>(
  { wallets }: RequestStore,
  wallet: Address,
  endRows: () => Promise<Ended>,
): Promise<{ ended: Ended; epoch: number }> {
  await wallets.raiseEpoch(wallet)
  const ended = await endRows()
  return { ended, epoch: await wallets.raiseEpoch(wallet) }
}

/** A wallet at one client, or at all clients. */
type WalletAtClient = { wallet: Address; clientId?: string | undefined }

function unendedGrants({ grants }: RequestStore, of: WalletAtClient): AsyncGenerator<Grant[]> {
  return pagesOf((page) => grants.listUnendedGrants({ ...of, ...page }))
}

function validReceipts({ receipts }: RequestStore, { wallet, clientId }: WalletAtClient): AsyncGenerator<Receipt[]> {
  return pagesOf((page) => receipts.listReceipts(wallet, { clientId, ...page }))
}

/** `now`: the clock. With many grants an ending takes longer than tokens live, so each page ends at a time of its own. */
type GrantsEnding = { reason: EndReason; now: () => number; note?: (grants: Grant[]) => void }

/**
 * Ends the grants of these pages. Yields how many grants ended after each page. The feed of endings forgets an ending one lifetime of access tokens after
 * its time. Until its page ends, a grant can get new access tokens, so the time of the ending is that of the page.
 */
async function* endPages(
  { grants }: Pick<RequestStore, 'grants'>,
  pages: AsyncGenerator<Grant[]>,
  { reason, now, note }: GrantsEnding,
): AsyncGenerator<number> {
  for await (const page of pages) {
    note?.(page)
    const ids = page.map(({ id }) => id)
    yield (await grants.endGrants(ids, { reason, at: now(), attemptId: randomUUID() })).length
  }
}

/** The unended grants whose codes were issued before an ending raised the wallet's epoch to this one. */
function olderGrants(store: RequestStore, of: WalletAtClient, epoch: number): AsyncGenerator<Grant[]> {
  return selected(unendedGrants(store, of), (grant) => grant.epoch < epoch)
}

/** A request ends at most this many grants of a wallet. SQLite and PostgreSQL do this in about a second. */
export const ENDED_AT_ONCE = 1000

/** What an ending has done. `job` ends the other grants; null if all have ended. */
export type WalletEnding = { ended: number; job: Job | null }

/** The name of a job in the address of the page that shows its progress. No session is needed there, and a forged name costs no read. */
export const ENDING = sealedFormat<string>('endingProgress')

export function nameEnding({ keys }: Pick<Deps, 'keys'>, { id }: Job): string {
  return ENDING.seal(keys, id)
}

type OlderGrants = WalletAtClient & { epoch: number; begunAt: number; startedBy: string }

/** Ends the grants that are older than the epoch: all of them, or the first ones, and the others in a job. */
async function endOlderOf(
  { store, endings }: Pick<Deps, 'store' | 'endings'>,
  { startedBy, epoch, begunAt, ...of }: OlderGrants,
  { reason, ...ending }: GrantsEnding & { reason: 'user' | 'operator' },
): Promise<WalletEnding> {
  let [ended, mayBeJob] = [0, true]
  for await (const number of endPages(store, olderGrants(store, of, epoch), { reason, ...ending })) {
    ended += number
    if (!mayBeJob || ended < ENDED_AT_ONCE || (await olderGrants(store, of, epoch).next()).done) continue
    const { wallet, clientId = '' } = of
    const job = await endings.add({ wallet, clientId, epoch, reason, startedBy, grantsEnded: ended }, begunAt)
    if (job) return { ended, job }
    mayBeJob = false
  }
  return { ended, job: null }
}

/**
 * The work of such a job. Yields how many grants ended after each page. Notifies the clients of sessions that ended since the ending began:
 * the request did so only for the grants that it ended itself.
 */
export async function* endOlderGrants(
  { store, announceEnded }: { store: RequestStore } & Pick<Deps, 'announceEnded'>,
  { epoch, reason, now, since, ...of }: WalletAtClient & Pick<GrantsEnding, 'reason' | 'now'> & { epoch: number; since: number },
): AsyncGenerator<number> {
  const relying: RelyingClients = new Map()
  const note = (grants: Grant[]) => noteRelying(relying, grants, now())
  yield* endPages(store, olderGrants(store, of, epoch), { reason, now, note })
  const hashes = new Set([...relying.values()].map(({ sessionHash }) => sessionHash))
  const ended: string[] = []
  for (const hash of hashes) {
    const session = await store.sessions.readSession(hash)
    if (session && session.endedAt !== null && session.replacedBy === null && session.endedAt >= since - LATE_BY_AT_MOST)
      ended.push(hash)
  }
  announce({ announceEnded }, of.wallet, relying, ended)
}

async function withdrawPages(
  { receipts }: RequestStore,
  wallet: Address,
  pages: AsyncGenerator<Receipt[]>,
  now: () => number,
): Promise<void> {
  for await (const page of pages) {
    const ids = page.map(({ id }) => id)
    await receipts.withdrawReceipts(wallet, ids, now())
  }
}

/** Withdraws the receipts and ends the grants of a wallet, for one client or for all. */
export async function endAllowed(
  deps: Pick<Deps, 'store' | 'endings' | 'now'>,
  of: WalletAtClient & { startedBy: string },
  reason: 'user' | 'operator',
): Promise<WalletEnding> {
  const { store, now } = deps
  const begunAt = now()
  const confirm = await store.startReading()
  // A valid receipt would allow the next code without a new signature.
  const { epoch } = await endForWallet(store, of.wallet, () => withdrawPages(store, of.wallet, validReceipts(store, of), now))
  const ending = await endOlderOf(deps, { ...of, epoch, begunAt }, { reason, now })
  await confirm()
  return ending
}

/** The same for a command, which ends all grants itself. Returns how many grants ended. */
export async function endGrantsOfWallet(
  store: RequestStore,
  wallet: Address,
  clientId: string | undefined,
  now: () => number,
): Promise<number> {
  const endings = { add: async () => null, read: async () => null }
  return (await endAllowed({ store, endings, now }, { wallet, clientId, startedBy: '' }, 'operator')).ended
}

export type EndingDeps = Pick<Deps, 'store' | 'now' | 'audit' | 'announceEnded'>

/** Ends all sessions and grants and withdraws all receipts of a wallet. Returns the job that ends the other grants; null if all have ended. */
export async function endEverything(deps: EndingDeps & Pick<Deps, 'endings'>, wallet: Address): Promise<Job | null> {
  const { store, now } = deps
  const begunAt = now()
  const confirm = await store.startReading()
  const { ended: hashes, epoch } = await endForWallet(store, wallet, () => endSessions(deps, wallet, () => true))
  const relying: RelyingClients = new Map()
  let job: Job | null
  try {
    const note = (grants: Grant[]) => noteRelying(relying, grants, now())
    ;({ job } = await endOlderOf(deps, { wallet, epoch, begunAt, startedBy: wallet }, { reason: 'user', now, note }))
  } finally {
    announce(deps, wallet, relying, hashes)
  }
  // The receipts can be withdrawn last: no session is left that could use them to get a code.
  await withdrawPages(store, wallet, validReceipts(store, { wallet }), now)
  await confirm()
  await deps.audit({ event: 'everything_ended', wallet, ...(job && { details: { grants_ended_by: job.id } }) })
  return job
}

/** Signs a browser out. Grants stay valid. Codes of the session are void, because the redemption reads the session. */
export async function endSession(deps: EndingDeps, { wallet, hash }: Pick<Session, 'wallet' | 'hash'>): Promise<void> {
  const { store, now } = deps
  const end = async () => ((await store.sessions.endSession(hash, randomUUID(), now())) === 'ended' ? [hash] : [])
  const ended = await endAndAnnounce(deps, wallet, end)
  if (ended.length > 0) await deps.audit({ event: 'session_ended', wallet })
}

/** Ends all other sessions of a wallet, and all pending logins, which would become sessions. */
export async function endOtherSessions(deps: EndingDeps, { wallet, hash: own }: Pick<Session, 'wallet' | 'hash'>): Promise<void> {
  const end = () => endSessions(deps, wallet, ({ hash }) => hash !== own)
  const confirm = await deps.store.startReading()
  await endAndAnnounce(deps, wallet, async () => (await endForWallet(deps.store, wallet, end)).ended)
  await confirm()
  await deps.audit({ event: 'other_sessions_ended', wallet })
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
export async function endAndAnnounce(deps: EndingDeps, wallet: Address, end: () => Promise<string[]>): Promise<string[]> {
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
  const hasDeclined = ({ scopes }: { scopes: string[] }): boolean => scopes.some((scope) => declined.includes(scope))
  const older = () => selected(validReceipts(store, { wallet, clientId }), (receipt) => receipt.id !== id && hasDeclined(receipt))
  const grants = () =>
    selected(unendedGrants(store, { wallet, clientId }), (grant) => grant.refreshExpiresAt > now() && hasDeclined(grant))
  const confirm = await store.startReading()
  const isNone = (await older().next()).done && (await grants().next()).done
  if (isNone) {
    const present = await store.wallets.readEpoch(wallet)
    await confirm()
    return present === epoch ? epoch : null
  }

  const raised = await store.wallets.raiseEpoch(wallet)
  await withdrawPages(store, wallet, older(), now)
  const raisedAgain = await store.wallets.raiseEpoch(wallet)
  await sumOf(endPages(store, grants(), { reason: 'user', now }))
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
 * Deletes a client permanently. The client is disabled first, so from then on no code can be redeemed and no token refreshed. Yields how
 * many grants ended after each page. If the caller stops, the client stays disabled, and the call can be repeated.
 */
export async function* deleteClient(store: Store, clientId: string, now: () => number): AsyncGenerator<number> {
  await store.clients.changeClient(clientId, (present) => ({ ...present, disabledAt: present.disabledAt ?? now() }))
  yield* endMatching(store, { clientId }, { reason: 'client_deleted', now })
  await store.clients.deleteClient(clientId)
}
