/**
 * The snapshots that a node has in memory. Readers that come at about the same time share one. A snapshot stays while a response is being sent from
 * it, so the number of snapshots has a bound, and `HeldBytes` bounds their memory and their time.
 */
import { StoreUnavailable } from '../model/store-errors.ts'
import type { HeldBytes, Hold } from './held-bytes.ts'

/** For all resources together. For a new one, the oldest one is dropped. */
const SNAPSHOTS_AT_MOST = 8
/** Seconds for which readers that come later get the same snapshot, and what followed. */
const SHARED_FOR = 5

export class Snapshot {
  readonly messages: string[] = []
  readonly #held: HeldBytes
  readonly #hold: Hold
  readonly #stops = new Set<() => void>()
  #isDropped = false

  constructor(held: HeldBytes) {
    this.#held = held
    this.#hold = held.hold(0, () => this.drop())
  }

  get isDropped(): boolean {
    return this.#isDropped
  }

  get isUsed(): boolean {
    return this.#stops.size > 0
  }

  get canBeShared(): boolean {
    return !this.#isDropped && this.#held.ageOf(this.#hold) < SHARED_FOR
  }

  add(message: string): void {
    if (this.#isDropped) throw new StoreUnavailable('the readers of the feed hold too many bytes')
    this.messages.push(message)
    this.#held.add(this.#hold, message.length)
  }

  /** The snapshot stays in memory until the returned function is called. `stop` is called if it is dropped before: the response must end at once. */
  use(stop: () => void): () => void {
    if (this.#isDropped) stop()
    else this.#stops.add(stop)
    return () => void this.#stops.delete(stop)
  }

  drop(): void {
    this.#isDropped = true
    this.#held.release(this.#hold)
    for (const stop of this.#stops) stop()
    this.#stops.clear()
  }
}

/** `Content` is what `make` returns about a snapshot. */
export class Snapshots<Content> {
  readonly #held: HeldBytes
  /** by name, the latest; `snapshot` is null before it is begun */
  readonly #shared = new Map<string, { snapshot: Snapshot | null; made: Promise<Content> }>()
  /** the oldest first */
  readonly #inMemory = new Set<Snapshot>()
  #latest: Promise<unknown> = Promise.resolve()

  constructor(held: HeldBytes) {
    this.#held = held
  }

  /** Snapshots are made one after the other, so no more than one is unfinished. */
  get(name: string, make: (snapshot: Snapshot) => Promise<Content>): Promise<Content> {
    const known = this.#shared.get(name)
    if (known && (known.snapshot === null || known.snapshot.canBeShared)) return known.made
    const made = this.#latest.then(() => this.#make((shared.snapshot = this.#begin()), make))
    const shared: { snapshot: Snapshot | null; made: Promise<Content> } = { snapshot: null, made }
    this.#shared.set(name, shared)
    this.#latest = made.catch(() => this.forget(name))
    return made
  }

  /** The next reader gets a new snapshot. */
  forget(name: string): void {
    this.#shared.delete(name)
  }

  /** Drops snapshots that no response is sent from and that no reader shares any more. To be called about once a second. */
  dropUnused(): void {
    for (const [name, { snapshot }] of this.#shared) if (snapshot && !snapshot.canBeShared) this.forget(name)
    for (const snapshot of this.#inMemory) {
      if (!snapshot.isUsed && !snapshot.canBeShared) snapshot.drop()
      if (snapshot.isDropped) this.#inMemory.delete(snapshot)
    }
  }

  #begin(): Snapshot {
    this.dropUnused()
    for (const oldest of this.#inMemory) {
      if (this.#inMemory.size < SNAPSHOTS_AT_MOST) break
      oldest.drop()
      this.#inMemory.delete(oldest)
    }
    const snapshot = new Snapshot(this.#held)
    this.#inMemory.add(snapshot)
    return snapshot
  }

  async #make(snapshot: Snapshot, make: (snapshot: Snapshot) => Promise<Content>): Promise<Content> {
    const end = snapshot.use(() => {})
    try {
      return await make(snapshot)
    } catch (error) {
      snapshot.drop()
      throw error
    } finally {
      end()
    }
  }
}
