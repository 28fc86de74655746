/** Appends entries to the chain of the audit trail. The store decides their place and computes the hashes (`../model/audit-chain.ts`). */
import { randomUUID } from 'node:crypto'
import type { AuditBatch, AuditStore } from '../model/audit-store.ts'
import { type AuditEntry, lineOf } from './entry.ts'
import type { WaitingBatches } from './waiting-batches.ts'

/** What a writer does while the machine of the chain is unavailable, if batches can wait elsewhere. */
export type WhileUnavailable = {
  batches: Pick<WaitingBatches, 'add'>
  /** Whether an append succeeds in time. The response that waits for its lines must be able to wait for `batches.add` as well. */
  succeedsInTime: (append: Promise<unknown>) => Promise<boolean>
  /** Resolves when the next append may be tried after a failure. Until then, batches wait at once. */
  pause: () => Promise<void>
}

/** In seconds. The store deletes the row of a writer some time after its last append (`../maintenance/clean-up.ts`), so its absence means nothing. */
const TRACED_FOR = 23 * 3600

export type WriterOptions = {
  whileUnavailable?: (() => WhileUnavailable | null) | undefined
  /** called if the store has lost an acknowledged batch of this writer */
  noteLoss?: (() => void) | undefined
}

/**
 * Appends batches for one process, one at a time. If the outcome of an attempt is unknown, call `append` again with the same entries: they
 * are stored once.
 */
export class ChainWriter {
  readonly #store: AuditStore
  readonly #now: () => number
  readonly #whileUnavailable: () => WhileUnavailable | null
  readonly #noteLoss: () => void
  /** the last append, and the servers that ran then */
  #last = { at: Number.NEGATIVE_INFINITY, instance: '' }
  #id = randomUUID()
  /** the number of the present batch, which a repeated attempt has too */
  #number = 1
  #isPausing = false

  constructor(
    store: AuditStore,
    now: () => number,
    { whileUnavailable = () => null, noteLoss = () => undefined }: WriterOptions = {},
  ) {
    this.#store = store
    this.#now = now
    this.#whileUnavailable = whileUnavailable
    this.#noteLoss = noteLoss
  }

  /** Resolves after the commit: `waiting` if the entries wait outside of the chain. Throws if the store fails. */
  async append(entries: readonly AuditEntry[]): Promise<'appended' | 'waiting'> {
    const batch = { writer: this.#id, number: this.#number, lines: entries.map(lineOf), at: this.#now() }
    if (await this.#appendToChain(batch)) {
      this.#number++
      return 'appended'
    }
    await this.#whileUnavailable()?.batches.add(batch)
    // The attempt above may still succeed. A waiting batch is the last one of its writer, so that no later batch can overtake it.
    this.#id = randomUUID()
    this.#number = 1
    return 'waiting'
  }

  /** Without another place for the batch, throws instead of returning false. */
  async #appendToChain(batch: AuditBatch): Promise<boolean> {
    const otherwise = this.#whileUnavailable()
    if (!otherwise) return this.#appendTracing(batch).then(() => true)
    if (this.#isPausing) return false
    if (await otherwise.succeedsInTime(this.#appendTracing(batch))) return true
    this.#isPausing = true
    void otherwise.pause().then(() => (this.#isPausing = false))
    return false
  }

  /** If another server has taken over since the last append, checks whether it has the batch of that append. */
  async #appendTracing(batch: AuditBatch): Promise<void> {
    const instance = await this.#store.append(batch)
    const isTraced = batch.at - this.#last.at < TRACED_FOR
    if (isTraced && instance !== this.#last.instance && (await this.#store.lacksBatches(batch).catch(() => false)))
      this.#noteLoss()
    this.#last = { at: batch.at, instance }
  }
}

/** Appends the entries of a process that records few. */
export async function appendEntries(store: AuditStore, entries: readonly AuditEntry[]): Promise<void> {
  const [first] = entries
  if (first) await new ChainWriter(store, () => first.at).append(entries)
}
