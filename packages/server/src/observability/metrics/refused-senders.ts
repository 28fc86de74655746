/** Who sent the refused requests of the last hour to this process: network, client and reason, in bounded memory. */

/** `network` is the first part of an address. `client` is from `countedClient`, `reason` from a closed set. */
export type RefusedSender = { network: string; client: string; reason: string }

export type RefusedSenders = {
  count(sender: RefusedSender): void
  /** The most frequent first. `others` are the refusals of all other senders. */
  read(): { senders: (RefusedSender & { count: number })[]; others: number }
}

/** Seconds. */
const SLOT = 300
const SLOTS = 12
/** Senders of one slot, about 200 bytes each. */
const SENDERS_AT_MOST = 100

/** Senders of a reading, which is stored once a minute. */
export const READ_AT_MOST = 50

/** `rank` decides which sender makes room: its own count, and the rank of the sender that made room for it. */
type CountedSender = RefusedSender & { key: string; count: number; rank: number }
type SenderSlot = { number: number; senders: Map<string, CountedSender>; others: number }

export function createRefusedSenders(now: () => number): RefusedSenders {
  const ring: (SenderSlot | undefined)[] = []

  function present(): SenderSlot {
    const number = Math.floor(now() / SLOT)
    const slot = ring[number % SLOTS]
    if (slot?.number === number) return slot
    const fresh = { number, senders: new Map(), others: 0 }
    ring[number % SLOTS] = fresh
    return fresh
  }

  return {
    count(sender) {
      const slot = present()
      const key = `${sender.network} ${sender.reason} ${sender.client}`
      const known = slot.senders.get(key)
      if (known) {
        known.count += 1
        known.rank += 1
        return
      }
      const rank = slot.senders.size < SENDERS_AT_MOST ? 0 : makeRoom(slot)
      slot.senders.set(key, { ...sender, key, count: 1, rank: rank + 1 })
    },
    read() {
      const from = Math.floor(now() / SLOT) - SLOTS
      const slots = ring.filter((slot): slot is SenderSlot => slot !== undefined && slot.number > from)
      const sums = new Map<string, RefusedSender & { count: number }>()
      for (const { senders } of slots) {
        for (const { key, rank: _, ...sender } of senders.values())
          sums.set(key, { ...sender, count: sender.count + (sums.get(key)?.count ?? 0) })
      }
      const senders = [...sums.values()].sort((a, b) => b.count - a.count)
      const rest = senders.slice(READ_AT_MOST).reduce((sum, { count }) => sum + count, 0)
      const others = slots.reduce((sum, slot) => sum + slot.others, rest)
      return { senders: senders.slice(0, READ_AT_MOST), others }
    },
  }
}

/**
 * Removes the sender of the lowest rank, and returns that rank. This is the algorithm Space-Saving (Metwally, Agrawal and El Abbadi, 2005): a
 * sender of more than one in `SENDERS_AT_MOST` of the refusals always has a place, also if the others come from a million networks.
 */
function makeRoom(slot: SenderSlot): number {
  let lowest: CountedSender | undefined
  for (const each of slot.senders.values()) if (lowest === undefined || each.rank < lowest.rank) lowest = each
  if (lowest === undefined) return 0
  slot.senders.delete(lowest.key)
  slot.others += lowest.count
  return lowest.rank
}
