/**
 * The audit trail in the store: numbered lines, each with a hash over its text and the hash of the line before. `domain/audit` decides
 * what is a line and computes the hashes. The store decides which of several simultaneous appends comes first.
 */
import type { Address } from '../../wallet/address.ts'

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

/** `until` is exclusive. Several conditions must all hold. */
export type AuditFilter = {
  wallet?: Address | undefined
  clientId?: string | undefined
  grantId?: string | undefined
  operator?: string | undefined
  reason?: string | undefined
  event?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

/** `before` is the last line of the previous page. */
export type AuditPage = { limit: number; before?: Pick<AuditLine, 'at' | 'seq'> | undefined }

export interface AuditStore {
  readHead(): Promise<AuditHead>
  /**
   * Appends the lines if the chain still ends at `head`; otherwise nothing is stored. If the call throws, the lines may have been stored. The
   * same lines at the same head can be appended again: at most one attempt stores them.
   */
  append(head: AuditHead, lines: readonly AuditLine[]): Promise<'appended' | 'moved'>
  /** The lines after the line with number `after`, in the order of the chain. */
  readLines(page: { after: number; limit: number }): Promise<AuditLine[]>
  /** A page of the lines that match, newest first. */
  searchLines(filter: AuditFilter, page: AuditPage): Promise<AuditLine[]>
  /** Deletes the oldest lines, at most `limit`, none after the line with number `through`. Returns the number of deleted lines. */
  deleteLines(through: number, limit: number): Promise<number>
}
