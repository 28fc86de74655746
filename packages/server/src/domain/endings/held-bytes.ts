/**
 * The memory for what readers have not received yet: snapshots, and what their connections have not accepted. All of it together has one bound in
 * a process, and each part has a deadline. Otherwise readers that receive slowly could hold snapshots of many megabytes without end.
 */

/** Bytes. A snapshot of a million endings has 28 MiB. */
const HELD_AT_MOST = 64 * 1024 * 1024
/** Seconds. */
const HELD_FOR = 60

/** `since` is in epoch seconds. `drop` frees the bytes at once. */
export type Hold = { bytes: number; readonly since: number; readonly drop: () => void }

export class HeldBytes {
  readonly #now: () => number
  /** the oldest first */
  readonly #holds = new Set<Hold>()
  #bytes = 0

  /** `now` is in epoch seconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  get bytes(): number {
    return this.#bytes
  }

  /** `drop` is called once, unless `release` was called before: after the deadline, or if this is the oldest part and the memory is needed. */
  hold(bytes: number, drop: () => void): Hold {
    const hold = { bytes: 0, since: this.#now(), drop }
    this.#holds.add(hold)
    this.add(hold, bytes)
    return hold
  }

  add(hold: Hold, bytes: number): void {
    if (!this.#holds.has(hold)) return
    hold.bytes += bytes
    this.#bytes += bytes
    for (const oldest of this.#holds) {
      if (this.#bytes <= HELD_AT_MOST) return
      this.#drop(oldest)
    }
  }

  release(hold: Hold): void {
    if (this.#holds.delete(hold)) this.#bytes -= hold.bytes
  }

  /** In seconds. The clock may have been set back. */
  ageOf({ since }: Hold): number {
    return Math.abs(this.#now() - since)
  }

  /** Drops what is held for too long. To be called about once a second. */
  dropOld(): void {
    for (const hold of this.#holds) if (this.ageOf(hold) > HELD_FOR) this.#drop(hold)
  }

  #drop(hold: Hold): void {
    this.release(hold)
    hold.drop()
  }
}
