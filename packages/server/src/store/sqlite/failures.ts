/** Maps errors of SQLite to failures of the store (https://www.sqlite.org/rescode.html). */
import { StoreUnavailable } from '../../domain/model/store-errors.ts'

const BUSY = new Set([5, 6])

/** BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB: the file cannot be used now. */
const UNAVAILABLE = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 26])

/** Whether another connection has the file locked. */
export function isBusy(error: unknown): boolean {
  return BUSY.has(resultCodeOf(error))
}

export function isUnavailable(error: unknown): boolean {
  return UNAVAILABLE.has(resultCodeOf(error))
}

/** A `StoreUnavailable` if the file cannot be used now. Any other error is a defect and is returned as it is. */
export function asUnavailable(error: unknown): unknown {
  return isUnavailable(error)
    ? new StoreUnavailable(`the SQLite file cannot be used (${(error as Error).message})`, { cause: error })
    : error
}

/** The primary result code of a SQLite error, or -1 for any other error. */
function resultCodeOf(error: unknown): number {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : -1
}
