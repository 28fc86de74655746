/**
 * The entries of the feed: 16 bytes each, and the group of readers that may see the entry. Entries that may be forgotten at the same time are
 * in one block, so that no entry needs a time of its own, and forgetting is one step.
 *
 * An entry takes 26 to 52 bytes of memory, in arrays that the garbage collector does not traverse. A `Map` with a key
 * for each entry takes four times as much.
 */

/** Bytes. A UUID, or the first half of a SHA-256. */
export const ENTRY_LENGTH = 16
const FIRST_CAPACITY = 64

export class Block {
  /** epoch seconds; after this time no token that an entry concerns is valid */
  readonly forgetAt: number
  count = 0
  #entries = Buffer.alloc(FIRST_CAPACITY * ENTRY_LENGTH)
  #groups = new Uint16Array(FIRST_CAPACITY)
  /** an open hash table of positions, each increased by one; 0 is a free slot */
  #slots = new Uint32Array(FIRST_CAPACITY * 2)

  constructor(forgetAt: number) {
    this.forgetAt = forgetAt
  }

  get bytes(): number {
    return this.#entries.length + this.#groups.byteLength + this.#slots.byteLength
  }

  /** A part of the memory of the block, valid until an entry is added. */
  entryAt(position: number): Buffer {
    return this.#entries.subarray(position * ENTRY_LENGTH, (position + 1) * ENTRY_LENGTH)
  }

  groupAt(position: number): number {
    return this.#groups[position] ?? 0
  }

  has(entry: Buffer): boolean {
    return this.#slots[this.#slotOf(entry)] !== 0
  }

  /** The entry must not be in the block. */
  add(entry: Buffer, group: number): void {
    if (this.count === this.#groups.length) this.#grow()
    this.#slots[this.#slotOf(entry)] = this.count + 1
    this.#entries.set(entry, this.count * ENTRY_LENGTH)
    this.#groups[this.count] = group
    this.count++
  }

  /** The slot of the entry, or the free slot for the entry. At most half of the slots are used. */
  #slotOf(entry: Buffer): number {
    const mask = this.#slots.length - 1
    // The last bytes of a UUID are random, and so is every byte of a hash.
    let slot = entry.readUInt32LE(12) & mask
    for (;;) {
      const position = this.#slots[slot] ?? 0
      if (position === 0 || this.entryAt(position - 1).equals(entry)) return slot
      slot = (slot + 1) & mask
    }
  }

  #grow(): void {
    const capacity = this.count * 2
    this.#entries = Buffer.concat([this.#entries], capacity * ENTRY_LENGTH)
    const groups = new Uint16Array(capacity)
    groups.set(this.#groups)
    this.#groups = groups
    this.#slots = new Uint32Array(capacity * 2)
    for (let position = 0; position < this.count; position++) this.#slots[this.#slotOf(this.entryAt(position))] = position + 1
  }
}

/** The block that holds an entry, and the position of the entry in this block. */
export type Place = { block: Block; position: number }

export class Entries {
  /** from the time at which a block may be forgotten */
  readonly #blocks = new Map<number, Block>()

  get count(): number {
    return sum(this.blocks(), ({ count }) => count)
  }

  get bytes(): number {
    return sum(this.blocks(), ({ bytes }) => bytes)
  }

  blocks(): Block[] {
    return [...this.#blocks.values()]
  }

  /** Adds the entry unless it is there, in a block that stays until `neededUntil`. Null if it was there. */
  add(
    entry: Buffer,
    { forgetAt, group, neededUntil = 0 }: { forgetAt: number; group: number; neededUntil?: number },
  ): Place | null {
    for (const block of this.#blocks.values()) if (block.forgetAt >= neededUntil && block.has(entry)) return null
    let block = this.#blocks.get(forgetAt)
    if (!block) this.#blocks.set(forgetAt, (block = new Block(forgetAt)))
    block.add(entry, group)
    return { block, position: block.count - 1 }
  }

  forget(at: number): void {
    for (const forgetAt of this.#blocks.keys()) if (forgetAt < at) this.#blocks.delete(forgetAt)
  }
}

function sum(blocks: Block[], of: (block: Block) => number): number {
  return blocks.reduce((total, block) => total + of(block), 0)
}
