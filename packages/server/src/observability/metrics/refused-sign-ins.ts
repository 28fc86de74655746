/**
 * The sign-ins of the last day that this process refused, by wallet, in bounded memory. Anyone can name any address. So each network has few
 * places of its own, and a network that names many addresses displaces its own entries first.
 */

export type SignInRefusal = {
  /** the first part of the caller's address */
  network: string
  wallet: string
  /** from a closed set */
  reason: string
}

/** `at`: the last of them, in epoch seconds */
export type CountedSignIn = Omit<SignInRefusal, 'wallet'> & { at: number; count: number }

export type RefusedSignIns = {
  count(refused: SignInRefusal): void
  /** Of one wallet, the latest first. */
  read(wallet: string): CountedSignIn[]
}

/** Seconds. */
const KEPT = 86_400
/** Entries of about 200 bytes. */
export const OF_NETWORK_AT_MOST = 20
export const REFUSED_AT_MOST = 5000

type KeptRefusal = SignInRefusal & { at: number; count: number }

export function createRefusedSignIns(now: () => number): RefusedSignIns {
  /** Each network's entries, the oldest first. The networks are in the order of their latest entries. */
  const networks = new Map<string, Map<string, KeptRefusal>>()
  let size = 0

  function removeOldestOf(network: string, entries: Map<string, KeptRefusal>): void {
    for (const [key] of entries) {
      entries.delete(key)
      size -= 1
      break
    }
    if (entries.size === 0) networks.delete(network)
  }

  /** Of the network with the most entries; of several such networks, the one whose latest entry is the oldest. */
  function makeRoom(): void {
    let largest: [string, Map<string, KeptRefusal>] | undefined
    for (const each of networks) if (largest === undefined || each[1].size > largest[1].size) largest = each
    if (largest) removeOldestOf(...largest)
  }

  return {
    count({ network, wallet, reason }) {
      const entries = networks.get(network) ?? new Map<string, KeptRefusal>()
      const key = `${wallet} ${reason}`
      const known = entries.get(key)
      if (known) {
        entries.delete(key)
        size -= 1
      }
      entries.set(key, { network, wallet, reason, at: now(), count: (known?.count ?? 0) + 1 })
      size += 1
      networks.delete(network)
      networks.set(network, entries)
      if (entries.size > OF_NETWORK_AT_MOST) removeOldestOf(network, entries)
      else if (size > REFUSED_AT_MOST) makeRoom()
    },
    read(wallet) {
      const since = now() - KEPT
      const found = [...networks.values()].flatMap((entries) =>
        [...entries.values()].filter((entry) => entry.wallet === wallet && entry.at > since),
      )
      return found.sort((a, b) => b.at - a.at).map(({ at, network, reason, count }) => ({ at, network, reason, count }))
    },
  }
}
