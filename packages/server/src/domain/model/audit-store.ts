/**
 * The audit trail in the store: numbered lines, each with a hash over its text and the hash of the line before. `domain/audit` decides
 * what is a line. The store decides which of several simultaneous appends comes first, and computes numbers and hashes.
 */
import type { Address } from '../../protocol/wallet/address.ts'

/** The last line of the chain; `seq` is 0 and `hash` is `NO_LINE` before the first line. */
export type AuditHead = { seq: number; hash: string }

/** The hash before the first line: 32 zero bytes. */
export const NO_LINE = 'A'.repeat(43)

/** A stored line. The members besides `line` and `hash` are search columns. */
export type AuditLine = {
  /** from 1, without gaps */
  seq: number
  /** epoch seconds */
  at: number
  event: string
  reason: string | null
  clientId: string | null
  grantId: string | null
  /** complete, for searches only: `line` has the shortened form */
  wallet: Address | null
  operator: string | null
  /** the JSON text that is hashed and exported */
  line: string
  /** base64url of SHA-256 over the hash of the line before and `line` */
  hash: string
}

/** A line before its place in the chain is known. `rest` is the text after the number: the text is `{"seq":N,` and `rest`. */
export type UnplacedLine = Omit<AuditLine, 'seq' | 'line' | 'hash'> & { rest: string }

export type AuditBatch = {
  /** a random id of the writer, which appends one batch at a time */
  writer: string
  /** counts the batches of the writer, from 1; a repeated attempt has the number of the first */
  number: number
  lines: readonly UnplacedLine[]
  /** epoch seconds */
  at: number
}

/** A batch that waits outside of the chain, because the machine of the chain is unavailable. */
export type WaitingBatch = {
  /** a random id of the batches that one process stored one after the other */
  series: string
  /** counts the batches of the series, from 1 */
  position: number
  writer: string
  number: number
  /** epoch seconds */
  at: number
  /** the number of lines */
  size: number
  /** the JSON text of the lines, as it was hashed */
  lines: string
  /** the hash of the batch before in the series, or `NO_LINE` */
  previous: string
  /** base64url of SHA-256 over all other members */
  hash: string
}

export type BatchPlace = Pick<WaitingBatch, 'series' | 'position'>

/** The batches that wait, on a store of several machines. Those of one series are on one machine. */
export interface WaitingBatchStore {
  /** Resolves when the batch is durable. Can be repeated. */
  store(batch: WaitingBatch): Promise<void>
  /** The first batches after this place, sorted by series and position. Those of one series are read at one moment. */
  read(page: { after: BatchPlace; limit: number }): Promise<WaitingBatch[]>
  /** Removes the batch, if it is there. */
  remove(batch: BatchPlace): Promise<void>
  /** The number of waiting lines. */
  countLines(): Promise<number>
}

/** `until` is exclusive. Several conditions must all hold. */
export type AuditFilter = {
  wallet?: Address | undefined
  clientId?: string | undefined
  grantId?: string | undefined
  operator?: string | undefined
  reason?: string | undefined
  event?: string | undefined
  /** the result of the lines' events (`refusedEvents`) */
  result?: 'done' | 'refused' | undefined
  since?: number | undefined
  until?: number | undefined
}

/** `before` is the last line of the previous page. */
export type AuditPage = { limit: number; before?: Pick<AuditLine, 'at' | 'seq'> | undefined }

export interface AuditStore {
  readHead(): Promise<AuditHead>
  /**
   * Appends the lines to the end of the chain. Simultaneous appends wait for each other. If the call throws, the lines may have been stored.
   * The same batch can be appended again: at most one attempt stores it, also if the first attempt reaches the store last, after later batches
   * of the writer.
   *
   * The returned text identifies the running servers. If it changes, a server may have taken over that lacks earlier batches.
   */
  append(batch: AuditBatch): Promise<string>
  /** After the append of a batch: whether the store lacks this batch, or the one before it of the same writer. */
  lacksBatches(last: Pick<AuditBatch, 'writer' | 'number'>): Promise<boolean>
  /** The lines after the line with number `after`, in the order of the chain. */
  readLines(page: { after: number; limit: number }): Promise<AuditLine[]>
  /** How many of the next lines after the line `after` have one of the events. At most `within` lines are read. */
  countLines(of: { after: number; events: readonly string[]; within: number }): Promise<number>
  /** A page of the lines that match, newest first. */
  searchLines(filter: AuditFilter, page: AuditPage): Promise<AuditLine[]>
  /** Deletes the oldest lines, at most `limit`, none after the line with number `through`. Returns the number of deleted lines. */
  deleteLines(through: number, limit: number): Promise<number>
}
