/**
 * The entries of the feed: 16 bytes each, the group of readers that may see the entry, and the owner that the entry counts for. Entries that may be
 * forgotten at the same time are in one block, so that no entry needs a time of its own, and forgetting is one step.
 *
 * An entry takes 28 to 56 bytes of memory, in arrays that the garbage collector does not traverse. A `Map` with a key
 * for each entry takes four times as much.
 */

/** Bytes. A UUID, or the first half of a SHA-256. */
export const ENTRY_LENGTH = 16
const FIRST_CAPACITY = 64
/** The owner of entries that count for none. Other owners are numbers from 1 to 65,535. */
const NO_OWNER = 0

export class Block {
  /** epoch seconds; after this time no token that an entry concerns is valid */
  readonly forgetAt: number
  count = 0
  #entries = Buffer.alloc(FIRST_CAPACITY * ENTRY_LENGTH)
  #groups = new Uint16Array(FIRST_CAPACITY)
  #owners = new Uint16Array(FIRST_CAPACITY)
  /** an open hash table of positions, each increased by one; 0 is a free slot */
  #slots = new Uint32Array(FIRST_CAPACITY * 2)

  constructor(forgetAt: number) {
    this.forgetAt = forgetAt
  }

  get bytes(): number {
    return this.#entries.length + this.#groups.byteLength + this.#owners.byteLength + this.#slots.byteLength
  }

  /** A part of the memory of the block, valid until an entry is added. */
  entryAt(position: number): Buffer {
    return this.#entries.subarray(position * ENTRY_LENGTH, (position + 1) * ENTRY_LENGTH)
  }

  groupAt(position: number): number {
    return this.#groups[position] ?? 0
  }

  setGroup(position: number, group: number): void {
    this.#groups[position] = group
  }

  ownerAt(position: number): number {
    return this.#owners[position] ?? NO_OWNER
  }

  /** The position of the entry; -1 if it is not in the block. */
  find(entry: Buffer): number {
    return (this.#slots[this.#slotOf(entry)] ?? 0) - 1
  }

  /** The entry must not be in the block. Returns its position. */
  add(entry: Buffer, group: number, owner: number): number {
    if (this.count === this.#groups.length) this.#grow()
    this.#slots[this.#slotOf(entry)] = this.count + 1
    this.#entries.set(entry, this.count * ENTRY_LENGTH)
    this.#groups[this.count] = group
    this.#owners[this.count] = owner
    return this.count++
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
    this.#groups = grown(this.#groups, capacity)
    this.#owners = grown(this.#owners, capacity)
    this.#slots = new Uint32Array(capacity * 2)
    for (let position = 0; position < this.count; position++) this.#slots[this.#slotOf(this.entryAt(position))] = position + 1
  }
}

function grown(numbers: Uint16Array, capacity: number): Uint16Array<ArrayBuffer> {
  const larger = new Uint16Array(capacity)
  larger.set(numbers)
  return larger
}

/** The block that holds an entry, and the position of the entry in this block. */
export type EntryPosition = { block: Block; position: number }

export class Entries {
  /** from the time at which a block may be forgotten */
  readonly #blocks = new Map<number, Block>()
  readonly #countByOwner = new Uint32Array(65_536)

  get count(): number {
    return sumOfEntries(this.blocks(), ({ count }) => count)
  }

  get bytes(): number {
    return sumOfEntries(this.blocks(), ({ bytes }) => bytes)
  }

  blocks(): Block[] {
    return [...this.#blocks.values()]
  }

  countOf(owner: number): number {
    return this.#countByOwner[owner] ?? 0
  }

  has(entry: Buffer): boolean {
    for (const block of this.#blocks.values()) if (block.find(entry) >= 0) return true
    return false
  }

  /** The entry must not be in the block of this time. */
  add(entry: Buffer, { forgetAt, group, owner = NO_OWNER }: { forgetAt: number; group: number; owner?: number }): EntryPosition {
    let block = this.#blocks.get(forgetAt)
    if (!block) this.#blocks.set(forgetAt, (block = new Block(forgetAt)))
    if (owner !== NO_OWNER) this.#countByOwner[owner] = this.countOf(owner) + 1
    return { block, position: block.add(entry, group, owner) }
  }

  /** The position of the entry in the block of this time; null if the block lacks the entry. */
  find(entry: Buffer, forgetAt: number): EntryPosition | null {
    const block = this.#blocks.get(forgetAt)
    const position = block?.find(entry) ?? -1
    return block && position >= 0 ? { block, position } : null
  }

  forget(at: number): void {
    for (const block of this.blocks()) {
      if (block.forgetAt >= at) continue
      this.#blocks.delete(block.forgetAt)
      for (let position = 0; position < block.count; position++) this.#countDown(block.ownerAt(position))
    }
  }

  #countDown(owner: number): void {
    if (owner !== NO_OWNER) this.#countByOwner[owner] = this.countOf(owner) - 1
  }
}

function sumOfEntries(blocks: Block[], of: (block: Block) => number): number {
  return blocks.reduce((total, block) => total + of(block), 0)
}
