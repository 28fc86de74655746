/**
 * Endings. The wallet's epoch is raised, then the rows found are ended, then it is raised again, and only then it is
 * reported as done, so no clock decides.
 */
import { type Address, shortenAddress } from '../wallet/address.ts'
import type { Deps } from './deps.ts'
import type { Client, Receipt, Session } from './model.ts'
import type { Store } from './ports.ts'

/**
 * Ends rows of a wallet between two raises of its epoch.
 *
 * After the first, whoever adds a row that the ending misses (a redemption, a proof, a login) notices by the epoch read
 * after the insert. After the second, whoever read a row while it still lived (an authorize request) has made a code that
 * counts no more.
 */
export async function endForWallet<Ended>(
  { wallets }: Pick<Store, 'wallets'>,
  wallet: Address,
  endRows: () => Promise<Ended>,
): Promise<Ended> {
  await wallets.raiseEpoch(wallet)
  const ended = await endRows()
  await wallets.raiseEpoch(wallet)
  return ended
}

/** Ends what a wallet allowed, to one client or to all. Returns how many grants ended. */
export async function endGrantsOfWallet(
  store: Store,
  wallet: Address,
  clientId: string | undefined,
  at: number,
): Promise<number> {
  const of = clientId === undefined ? { wallet } : { wallet, clientId }
  return endForWallet(store, wallet, async () => {
    const ended = await store.grants.endGrants(of, 'operator', at)
    // Otherwise a signed consent that still holds would give the next code without asking.
    await store.receipts.withdrawReceipts(of, at)
    return ended
  })
}

/** Ends all of a wallet: what it allowed to any app, what it signed, and every session. */
export async function endEverything(
  deps: Pick<Deps, 'store' | 'now' | 'audit' | 'announceEnded'>,
  wallet: Address,
): Promise<void> {
  const { store } = deps
  const at = deps.now()
  const hashes = await endForWallet(store, wallet, async () => {
    await store.grants.endGrants({ wallet }, 'user', deps.now())
    await store.receipts.withdrawReceipts({ wallet }, deps.now())
    return store.sessions.endSessions(wallet, deps.now())
  })
  deps.announceEnded({ wallet, hashes, at })
  deps.audit({ event: 'everything_ended', wallet: shortenAddress(wallet) })
}

/** Signs a browser out. What apps were allowed stays allowed. */
export async function endSession(
  deps: Pick<Deps, 'store' | 'now' | 'audit' | 'announceEnded'>,
  { wallet, hash }: Pick<Session, 'wallet' | 'hash'>,
): Promise<void> {
  const at = deps.now()
  const ended = await endForWallet(deps.store, wallet, () => deps.store.sessions.endSession(hash, at))
  if (ended === 'ended') deps.announceEnded({ wallet, hashes: [hash], at })
  deps.audit({ event: 'session_ended' })
}

/** More than one wallet ever has of one app. */
const LOOKED_AT = 10_000

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
  const naming = ({ scopes }: { scopes: string[] }): boolean => scopes.some((scope) => declined.includes(scope))
  const older = await store.receipts.listReceipts(wallet, { clientId, limit: LOOKED_AT })
  const grantsNaming = async () =>
    (await store.grants.listGrants({ wallet, clientId, living: true, at: now(), limit: LOOKED_AT })).filter(naming)
  const some = older.some((receipt) => receipt.id !== id && receipt.withdrawnAt === null && naming(receipt))
  if (!some && (await grantsNaming()).length === 0) return (await store.wallets.readEpoch(wallet)) === epoch ? epoch : null

  const raised = await store.wallets.raiseEpoch(wallet)
  await store.receipts.withdrawReceipts({ wallet, clientId, naming: declined, except: id }, now())
  for (const grant of await grantsNaming()) await store.grants.endGrant(grant.id, 'user', now())
  const standing = await store.wallets.raiseEpoch(wallet)
  return raised === epoch + 1 && standing === epoch + 2 ? standing : null
}

/** Ends one grant, whoever allowed it. */
export async function endOneGrant(store: Store, grantId: string, at: number): Promise<'ended' | 'ended_before' | 'unknown'> {
  const outcome = await store.grants.endGrant(grantId, 'operator', at)
  return outcome === 'foreign' ? 'unknown' : outcome
}

/** Takes a client out of the registry for good: from the first step on it can redeem and refresh nothing more. */
export async function deleteClient(store: Store, client: Client, at: number): Promise<number> {
  await store.clients.changeClient(client.id, (present) => ({ ...present, disabledAt: present.disabledAt ?? at }))
  const ended = await store.grants.endGrants({ clientId: client.id }, 'client_deleted', at)
  await store.clients.deleteClient(client.id)
  return ended
}
