/** What an error of the driver or of PostgreSQL means for the statement. Codes: PostgreSQL's manual, appendix A. */
import { SchemaMismatch, StoreUnavailable } from '../../../domain/model/store-errors.ts'

// `conflict` and `stale` are rolled back, and a retry may succeed. `exhausted` and `defect` are rolled back, and a retry would not help.
export type StatementFailure =
  | 'not_sent' // there was no connection, so nothing happened
  | 'lost' // the connection broke while the statement was running; the statement may have taken effect
  | 'machine_lost' // the server lost its connection to another machine of the cluster, on which the statement may have taken effect
  | 'unreplicated' // committed here, but a synchronous standby may not have the commit
  | 'read_only' // the server is read-only, for example after a demotion; nothing happened
  | 'conflict' // a deadlock or a serialization failure
  | 'stale' // the tables changed after the statement was prepared
  | 'exhausted' // no space, no memory or no time
  | 'defect' // anything else

// 57P0x: the server closed the connection. 25P03, 25P04: the server ended an idle or a long transaction. 08: the connection failed.
const LOST = /^(57P0\d|25P0[34]|08\w{3})$/
// 53: disk, memory, connections. 57014: statement timeout. 55P03: lock timeout. 58030: I/O. XX001, XX002: a damaged page.
const EXHAUSTED = /^(53\w{3}|57014|55P03|58030|XX001|XX002)$/

/** A connection could not be opened, or has the wrong settings. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super('no connection to PostgreSQL', { cause })
  }
}

/** PostgreSQL stopped waiting for its synchronous standby. The only sign is a warning (PostgreSQL's manual, 20.6.1). */
export class Unreplicated extends Error {
  constructor() {
    super('committed, but perhaps not on the synchronous standby')
  }
}

export function failureOf(error: unknown): StatementFailure {
  if (error instanceof NotSent) return 'not_sent'
  if (error instanceof Unreplicated) return 'unreplicated'
  if (error instanceof StoreUnavailable) return 'exhausted'
  const code = codeOf(error)
  const severity = textOf(error, 'severity')
  // Only PostgreSQL's own errors have a code of five characters and a severity.
  if (severity === '') return 'lost'
  // A server that closes the connection sends FATAL. With ERROR the connection stays open: Citus forwards the error of another machine.
  if (LOST.test(code)) return severity === 'ERROR' && code !== '08P01' ? 'machine_lost' : 'lost'
  // The error of Citus when its own server was killed.
  if (code === 'XX000' && (error as Error).message.startsWith('postmaster was shut down')) return 'lost'
  // A table was distributed after Citus had planned the statement.
  if (code === 'XX000' && (error as Error).message.startsWith('could not find valid entry for shard')) return 'stale'
  if (code === '25006') return 'read_only'
  if (code === '40001' || code === '40P01') return 'conflict'
  // `RevalidateCachedQuery`: a table changed after the statement was prepared. 26000: a pooler that now shares its connections.
  if ((error as { routine?: unknown }).routine === 'RevalidateCachedQuery' || code === '26000') return 'stale'
  return EXHAUSTED.test(code) ? 'exhausted' : 'defect'
}

/** Converts an error for the domain. Only code and message are kept, because the driver's error contains the values of the statement. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof StoreUnavailable || error instanceof SchemaMismatch) return error
  if (error instanceof NotSent) return error.cause instanceof StoreUnavailable ? error.cause : unavailable(error.cause)
  if (failureOf(error) !== 'defect' || !(error instanceof Error)) return unavailable(error)
  return Object.assign(new Error(error.message), { code: codeOf(error) })
}

function unavailable(error: unknown): StoreUnavailable {
  const cause = new Error(error instanceof Error ? error.message : '')
  const reason = textOf(error, 'syscall') ? cause.message : codeOf(error) || cause.message
  return new StoreUnavailable(`PostgreSQL cannot be used (${reason})`, { cause })
}

export const codeOf = (error: unknown): string => textOf(error, 'code')

function textOf(error: unknown, name: 'code' | 'severity' | 'syscall'): string {
  const text = (error as Record<string, unknown> | null)?.[name]
  return typeof text === 'string' ? text : ''
}

/** Whether a statement exceeded `statement_timeout`. */
export const isTimeout = (error: unknown): boolean => codeOf(error) === '57014'

export const SILENT = 'PostgreSQL sent no result in time'
/** Whether a connection was silent for too long. */
export const isSilence = (error: unknown): boolean => error instanceof Error && error.message === SILENT
