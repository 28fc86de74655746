/** The chain of the audit trail: each line's hash depends on the line's text and on all lines before. */
import { createHash } from 'node:crypto'
import type { AuditHead, AuditLine, AuditStore } from '../model/audit-store.ts'
import { StoreUnavailable } from '../model/store-errors.ts'
import { type AuditEntry, lineOf } from './entry.ts'

/** `previous` is the hash of the line before. It always has 43 characters, so no other two texts give the same input. */
export function hashOfLine(previous: string, line: string): string {
  return createHash('sha256').update(previous).update(line).digest('base64url')
}

/** The lines of these entries after `head`. The same entries at the same head always give the same lines. */
export function chainLines(head: AuditHead, entries: readonly AuditEntry[]): AuditLine[] {
  let { seq, hash } = head
  return entries.map((entry) => {
    const line = lineOf(entry, ++seq)
    hash = hashOfLine(hash, line.line)
    return { ...line, hash }
  })
}

export function headOf({ seq, hash }: AuditHead): AuditHead {
  return { seq, hash }
}

/**
 * Appends batches for one process, one at a time. If the outcome of an attempt is unknown, call `append` again with the same entries: they
 * are stored once.
 */
export class ChainWriter {
  readonly #store: AuditStore
  #head: AuditHead | null = null
  /** the lines of an append whose outcome is unknown */
  #attempted: AuditLine[] = []

  constructor(store: AuditStore) {
    this.#store = store
  }

  /** Resolves after the commit. Throws if the store fails, or if other processes appended first at every attempt. */
  async append(entries: readonly AuditEntry[], attempts = 20): Promise<void> {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      this.#head ??= await this.#readHead()
      if (this.#attempted.length > 0 && (await this.#isStored())) return this.#done()
      const lines = chainLines(this.#head, entries)
      const head = this.#head
      this.#attempted = lines
      this.#head = null
      if ((await this.#store.append(head, lines)) === 'appended') return this.#done()
    }
    throw new StoreUnavailable('other processes appended audit lines at every attempt')
  }

  #readHead(): Promise<AuditHead> {
    return this.#store.readHead()
  }

  #done(): void {
    const last = this.#attempted.at(-1)
    this.#head ??= last ? headOf(last) : null
    this.#attempted = []
  }

  async #isStored(): Promise<boolean> {
    const last = this.#attempted.at(-1)
    if (!last) return false
    const [stored] = await this.#store.readLines({ after: last.seq - 1, limit: 1 })
    return stored?.seq === last.seq && stored.hash === last.hash
  }
}

/** Appends one entry, for a process that records few. */
export function appendEntry(store: AuditStore, entry: AuditEntry): Promise<void> {
  return new ChainWriter(store).append([entry])
}
