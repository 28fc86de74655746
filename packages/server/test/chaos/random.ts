/** Reproducible random numbers: every random decision of a run comes from one printed seed. */

export type Random = {
  /** from 0 to below 1 */
  next(): number
  /** a whole number from 0 to below `limit` */
  below(limit: number): number
  pick<Item>(items: readonly Item[]): Item
  /** the higher the weight, the more often */
  pickWeighted<Item>(items: readonly (readonly [weight: number, Item])[]): Item
  /** an independent stream, the same for the same name */
  stream(name: string): Random
}

/** The seed of this process: TEST_SEED, or a new one. */
export function readSeed(): number {
  const text = process.env.TEST_SEED
  if (text === undefined || text === '') return Math.floor(Math.random() * 2 ** 32)
  if (!/^[0-9]{1,10}$/.test(text) || Number(text) >= 2 ** 32)
    throw new Error(`TEST_SEED must be a number below 2^32, not "${text}"`)
  return Number(text)
}

export function seeded(seed: number): Random {
  let state = seed >>> 0
  // mulberry32: 32 bits of state are enough for a schedule.
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new Error('nothing to pick from')
      return items[below(items.length)] as Item
    },
    pickWeighted<Item>(items: readonly (readonly [weight: number, Item])[]): Item {
      let ticket = next() * items.reduce((sum, [weight]) => sum + weight, 0)
      const found = items.find(([weight]) => (ticket -= weight) < 0)
      if (!found) throw new Error('nothing to pick from')
      return found[1]
    },
    stream(name) {
      let hash = seed ^ 0x811c9dc5
      for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
      return seeded(hash)
    },
  }
}
