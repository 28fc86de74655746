/**
 * Batches of lines that wait in the database, because the machine of the chain is unavailable. The response that waits for a line is sent once
 * its batch is durable. When the machine is back, any process moves the batches into the chain.
 *
 * - Each batch has the writer and the number with which its process tried to append it before. The chain stores each number of a writer once, so a
 *   batch is stored once however many processes move it, and also if the first attempt succeeded without a response.
 * - A waiting batch is the last one of its writer. So no later batch of the writer can come before it.
 * - Each batch has the hash of the batch before. So a batch that was changed or removed while it waited is noticed, unless it was the first or the
 *   last one of its series.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  type AuditBatch,
  type AuditStore,
  type BatchPlace,
  NO_LINE,
  type UnplacedLine,
  type WaitingBatch,
  type WaitingBatchStore,
} from '../model/audit-store.ts'
import { StoreUnavailable } from '../model/store-errors.ts'
import { lineOf, newEntry } from './entry.ts'
import { BATCH_CHANGED } from './own-events.ts'

/** Waiting lines of one process, and of all processes: about 60 MB and 600 MB. */
const OF_PROCESS_AT_MOST = 100_000
const IN_ALL_AT_MOST = 1_000_000
/** The process counts the lines of all processes again after it has added this many. */
const COUNTED_EVERY = 1000

export class WaitingBatches {
  readonly #store: WaitingBatchStore
  #series = randomUUID() as string
  #position = 1
  #previous = NO_LINE
  /** the batch whose outcome is unknown */
  #unsure: WaitingBatch | null = null
  #lines = 0
  #countAt = 0

  constructor(store: WaitingBatchStore) {
    this.#store = store
  }

  /** The lines that this process has added since the last call of `noteMoved` that returned true. */
  get lines(): number {
    return this.#lines
  }

  /** Resolves when the batch is durable. Throws if the store fails or is full. The same batch can then be added again. */
  async add(batch: AuditBatch): Promise<void> {
    await this.#requireRoom(batch.lines.length)
    const row = this.#rowOf(batch)
    this.#unsure = row
    await this.#store.store(row)
    this.#unsure = null
    this.#position++
    this.#previous = row.hash
    this.#lines += row.size
  }

  /** To be called after all batches were moved that were there when `lines` had this value. */
  noteMoved(lines: number): void {
    if (lines === this.#lines) [this.#lines, this.#countAt] = [0, 0]
  }

  #rowOf({ lines, ...batch }: AuditBatch): WaitingBatch {
    const unsure = this.#unsure
    if (unsure?.writer === batch.writer && unsure.number === batch.number) return unsure
    // It is unknown whether the row of the other batch was stored, so a new series begins.
    if (unsure) [this.#series, this.#position, this.#previous] = [randomUUID(), 1, NO_LINE]
    const place = { series: this.#series, position: this.#position, previous: this.#previous }
    const row = { ...place, ...batch, size: lines.length, lines: JSON.stringify(lines) }
    return { ...row, hash: hashOf(row) }
  }

  async #requireRoom(size: number): Promise<void> {
    if (this.#lines + size > OF_PROCESS_AT_MOST) throw new StoreUnavailable('too many audit lines of this process wait')
    if (this.#lines < this.#countAt) return
    if ((await this.#store.countLines()) + size > IN_ALL_AT_MOST) throw new StoreUnavailable('too many audit lines wait')
    this.#countAt = this.#lines + COUNTED_EVERY
  }
}

function hashOf({ series, position, writer, number, at, size, lines, previous }: Omit<WaitingBatch, 'hash'>): string {
  const members = JSON.stringify([series, position, writer, number, at, size])
  return createHash('sha256').update(previous).update(members).update(lines).digest('base64url')
}

/**
 * `changed`: the batch itself was changed. `refused`: the chain could not store the changed lines, which are lost. `removed`: batches before it were
 * removed.
 */
export type BatchFault = { kind: 'changed' | 'refused' | 'removed'; series: string; position: number }

type Moving = {
  chain: Pick<AuditStore, 'append'>
  waiting: WaitingBatchStore
  now: () => number
  /** reports a fault; each fault is also a line of the trail */
  note: (fault: BatchFault) => void
  /** Whether this process may move the next batches. Otherwise another one does. */
  mayMove: () => Promise<boolean>
  /** the process stops */
  stopping?: AbortSignal | undefined
}

/** Batches of one read. */
const PAGE = 50

/**
 * Moves all waiting batches into the chain, until `stopping` aborts or `mayMove` returns false. If several processes do so at the same time, each line is
 * stored once, but each of them reads all batches. Returns the number of moved lines. If the chain refuses a batch, the batch stays, and the error is thrown after all others were moved.
 */
export async function moveWaitingBatches({ stopping, mayMove, ...moving }: Moving): Promise<number> {
  let after: BatchPlace = { series: '', position: 0 }
  let refusal: { error: unknown } | null = null
  for (let moved = 0; ; ) {
    if (!(await mayMove())) return moved
    const page = await moving.waiting.read({ after, limit: PAGE })
    const isLast = page.length < PAGE
    // The last batch of a full page is read again with the batch that follows it.
    for (const [index, batch] of (isLast ? page : page.slice(0, -1)).entries()) {
      if (stopping?.aborted) return moved
      try {
        await moveBatch(moving, batch, page[index + 1])
        moved += batch.size
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error
        refusal ??= { error }
      }
      after = batch
    }
    if (isLast && refusal) throw refusal.error
    if (isLast) return moved
  }
}

async function moveBatch(
  { chain, waiting, now, note }: Omit<Moving, 'mayMove' | 'stopping'>,
  batch: WaitingBatch,
  next: WaitingBatch | undefined,
): Promise<void> {
  const lines = parseLines(batch)
  const faults = faultsOf(batch, lines, next)
  const isChanged = faults.some(({ kind }) => kind === 'changed')
  // With a changed writer or number, the chain could ignore this batch, or all later ones of a running process.
  const { writer, number } = isChanged ? { writer: hashOf(batch), number: 1 } : batch
  const append = (moved: UnplacedLine[]) =>
    chain.append({ writer, number, at: now(), lines: [...moved, ...faults.map((fault) => lineOfFault(fault, now()))] })
  try {
    await append(lines ?? [])
  } catch (error) {
    // Lines that were not changed are never given up.
    if (error instanceof StoreUnavailable || !isChanged) throw error
    faults.push({ kind: 'refused', series: batch.series, position: batch.position })
    await append([])
  }
  await waiting.remove(batch)
  for (const fault of faults) note(fault)
}

/** Faults of a batch, and between the batch and the next one. */
function faultsOf(batch: WaitingBatch, lines: UnplacedLine[] | null, next: WaitingBatch | undefined): BatchFault[] {
  const { series, position } = batch
  const faults: BatchFault[] = []
  if (lines === null || hashOf(batch) !== batch.hash) faults.push({ kind: 'changed', series, position })
  const isLinked = next?.series !== series || (next.position === position + 1 && next.previous === batch.hash)
  if (!isLinked) faults.push({ kind: 'removed', series, position: next.position })
  return faults
}

/** Null if the text is no list. */
function parseLines({ lines }: WaitingBatch): UnplacedLine[] | null {
  try {
    const parsed: unknown = JSON.parse(lines)
    return Array.isArray(parsed) ? (parsed as UnplacedLine[]) : null
  } catch {
    return null
  }
}

function lineOfFault({ kind, series, position }: BatchFault, at: number): UnplacedLine {
  return lineOf(newEntry({ at, event: BATCH_CHANGED, reason: kind, details: { series, position } }))
}
