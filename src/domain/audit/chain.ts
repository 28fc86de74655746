/** Appends entries to the chain of the audit trail. The store decides their place and computes the hashes (`../model/audit-chain.ts`). */
import { randomUUID } from 'node:crypto'
import type { AuditStore } from '../model/audit-store.ts'
import { type AuditEntry, lineOf } from './entry.ts'

/**
 * Appends batches for one process, one at a time. If the outcome of an attempt is unknown, call `append` again with the same entries: they
 * are stored once.
 */
export class ChainWriter {
  readonly #store: AuditStore
  readonly #now: () => number
  readonly #id = randomUUID()
  /** the number of the present batch, which a repeated attempt has too */
  #number = 1

  constructor(store: AuditStore, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Resolves after the commit. Throws if the store fails. */
  async append(entries: readonly AuditEntry[]): Promise<void> {
    await this.#store.append({ writer: this.#id, number: this.#number, lines: entries.map(lineOf), at: this.#now() })
    this.#number++
  }
}

/** Appends the entries of a process that records few. */
export async function appendEntries(store: AuditStore, entries: readonly AuditEntry[]): Promise<void> {
  const [first] = entries
  if (first) await new ChainWriter(store, () => first.at).append(entries)
}
