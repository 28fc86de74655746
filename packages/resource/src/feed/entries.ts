/**
 * Sets of entries of 16 bytes. An entry takes 20 to 30 bytes of memory, in arrays that the garbage collector does not traverse. A `Set` of texts
 * takes about 90 (`npm run bench -- feed`).
 */

/** An entry is four numbers of 32 bits. */
export const WORDS = 4
const FIRST_CAPACITY = 64
/** Slots that may be used. With more, a search for an entry that is not there takes too many steps. */
const LOAD_AT_MOST = 0.8
const GROWTH = 1.5

/** An open hash table with linear probing. Entries cannot be removed one by one. */
class Table {
  count = 0
  #capacity = FIRST_CAPACITY
  #words = new Uint32Array(FIRST_CAPACITY * WORDS)
  /** A slot of zeros is free, so the entry of zeros needs a place of its own. */
  #hasZero = false

  get bytes(): number {
    return this.#words.byteLength
  }

  has(entries: Uint32Array, position: number): boolean {
    if (isZero(entries, position)) return this.#hasZero
    return !isZero(this.#words, this.#slotOf(entries, position))
  }

  /** False if the entry was there. */
  add(entries: Uint32Array, position: number): boolean {
    if (isZero(entries, position)) {
      const isNew = !this.#hasZero
      this.#hasZero = true
      return isNew
    }
    if (this.count + 1 > this.#capacity * LOAD_AT_MOST) this.#grow()
    const slot = this.#slotOf(entries, position)
    if (!isZero(this.#words, slot)) return false
    copyEntry(entries, position, this.#words, slot)
    this.count++
    return true
  }

  /** The place of the entry, or the free place for the entry. */
  #slotOf(entries: Uint32Array, position: number): number {
    const words = this.#words
    // The last 62 bits of a UUID are random, and so is every bit of a hash.
    const hash = entries[position + 3] ?? 0
    let slot = Math.floor((hash / 0x1_0000_0000) * this.#capacity) * WORDS
    for (;;) {
      if (isZero(words, slot) || isSame(words, slot, entries, position)) return slot
      slot += WORDS
      if (slot === words.length) slot = 0
    }
  }

  #grow(): void {
    const before = this.#words
    this.#capacity = Math.ceil(this.#capacity * GROWTH)
    this.#words = new Uint32Array(this.#capacity * WORDS)
    for (let position = 0; position < before.length; position += WORDS) {
      if (isZero(before, position)) continue
      copyEntry(before, position, this.#words, this.#slotOf(before, position))
    }
  }
}

function copyEntry(from: Uint32Array, position: number, to: Uint32Array, slot: number): void {
  for (let word = 0; word < WORDS; word++) to[slot + word] = from[position + word] ?? 0
}

function isZero(words: Uint32Array, position: number): boolean {
  return words[position + 3] === 0 && words[position + 2] === 0 && words[position + 1] === 0 && words[position] === 0
}

function isSame(some: Uint32Array, at: number, others: Uint32Array, position: number): boolean {
  return (
    some[at + 3] === others[position + 3] &&
    some[at + 2] === others[position + 2] &&
    some[at + 1] === others[position + 1] &&
    some[at] === others[position]
  )
}

/** Seconds. Entries of a shorter period share one table. */
const PERIOD_AT_LEAST = 32
/** A period is at most this part of the time for which the entries are still needed, so that there are few tables. */
const PERIOD_PART = 4

/** A set of entries, each with the time until which the entry is needed. Entries of one period are forgotten together, which is one step. */
export class Entries {
  /** in epoch seconds */
  readonly #tables: { forgetAt: number; table: Table }[] = []

  get count(): number {
    return this.#tables.reduce((sum, { table }) => sum + table.count, 0)
  }

  get bytes(): number {
    return this.#tables.reduce((sum, { table }) => sum + table.bytes, 0)
  }

  /** Whether the entry of four words from `position` on is in the set. */
  has(entries: Uint32Array, position: number): boolean {
    for (const { table } of this.#tables) if (table.has(entries, position)) return true
    return false
  }

  /**
   * Adds entries. Times are epoch seconds; `at` is the present. Returns the number of entries that are new.
   *
   * Entries stay for up to a quarter longer than they must, which bounds the number of tables: a table for every time would make every check slow.
   */
  add(entries: Uint32Array, { forgetAt, at }: { forgetAt: number; at: number }): number {
    const table = this.#tableFor(forgetAt, at)
    let added = 0
    for (let position = 0; position + WORDS <= entries.length; position += WORDS) if (table.add(entries, position)) added++
    return added
  }

  forget(at: number): void {
    for (let index = this.#tables.length - 1; index >= 0; index--)
      if ((this.#tables[index]?.forgetAt ?? at) < at) this.#tables.splice(index, 1)
  }

  #tableFor(forgetAt: number, at: number): Table {
    let period = PERIOD_AT_LEAST
    while (period * 2 * PERIOD_PART <= forgetAt - at) period *= 2
    const end = Math.ceil(forgetAt / period) * period
    const found = this.#tables.find((each) => each.forgetAt === end)
    if (found) return found.table
    const table = new Table()
    this.#tables.push({ forgetAt: end, table })
    return table
  }
}
