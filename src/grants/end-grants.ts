/**
 * The operator's endings. The wallet's epoch is raised first, then the rows found are ended, and only then it is
 * reported as done: a code issued before is void, a redemption that raced notices, so no clock decides.
 */
import { type Address, shortenAddress } from '../wallet/address.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'
import type { Store } from './ports.ts'

/** Ends what a wallet allowed, to one client or to all. Returns how many grants ended. */
export async function endGrantsOfWallet(
  store: Store,
  wallet: Address,
  clientId: string | undefined,
  at: number,
): Promise<number> {
  await store.wallets.raiseEpoch(wallet)
  const of = clientId === undefined ? { wallet } : { wallet, clientId }
  const ended = await store.grants.endGrants(of, 'operator', at)
  // Otherwise a signed consent that still holds would give the next code without asking.
  await store.receipts.withdrawReceipts(of, at)
  return ended
}

/** Ends all of a wallet: what it allowed to any app, what it signed, and every session. */
export async function endEverything(deps: Pick<Deps, 'store' | 'now' | 'audit'>, wallet: Address): Promise<void> {
  const { store } = deps
  await store.wallets.raiseEpoch(wallet)
  await store.grants.endGrants({ wallet }, 'user', deps.now())
  await store.receipts.withdrawReceipts({ wallet }, deps.now())
  await store.sessions.endSessions(wallet, deps.now())
  deps.audit({ event: 'everything_ended', wallet: shortenAddress(wallet) })
}

/** Ends one grant, whoever allowed it. */
export async function endOneGrant(store: Store, grantId: string, at: number): Promise<'ended' | 'ended_before' | 'unknown'> {
  const outcome = await store.grants.endGrant(grantId, 'operator', at)
  return outcome === 'foreign' ? 'unknown' : outcome
}

/** Takes a client out of the registry for good: from the first step on it can redeem and refresh nothing more. */
export async function deleteClient(store: Store, client: Client, at: number): Promise<number> {
  await store.clients.replaceClient({ ...client, disabledAt: client.disabledAt ?? at })
  const ended = await store.grants.endGrants({ clientId: client.id }, 'client_deleted', at)
  await store.clients.deleteClient(client.id)
  return ended
}
