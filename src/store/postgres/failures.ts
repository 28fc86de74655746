/** What an error of the driver or of PostgreSQL means for the one who waits. Codes: PostgreSQL's appendix A, and Node's. */
import { StoreUnavailable } from '../../grants/ports.ts'

/**
 * - `unreachable`: nobody answered, or nobody who lets us in: the statement was never sent
 * - `lost`: the connection went while the statement was under way: whether it happened is unknown
 * - `read_only`: this server takes no writes, as one that was demoted: it did not happen
 * - `conflict`: it stood in another's way and was undone, to be asked again
 * - `exhausted`: no room, or no time: it did not happen, and will not soon
 * - `defect`: anything else
 */
export type Failure = 'unreachable' | 'lost' | 'read_only' | 'conflict' | 'exhausted' | 'defect'

const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|EACCES|ENOENT|EMFILE|CONNECT_TIMEOUT|SASL_SIGNATURE_MISMATCH|ERR_TLS_\w+|ERR_SSL_\w+|EPROTO|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|57P03|53300|28\w{3}|3D000)$/
const LOST =
  /^(CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECTION_ENDED|ECONNRESET|EPIPE|ETIMEDOUT|57P01|57P02|57P04|57P05|08\w{3})$/
// 53: no disk, no memory; 57014: statement timeout; 55P03: lock timeout; 58030: I/O error; XX001, XX002: a damaged page.
const EXHAUSTED = /^(53\w{3}|57014|55P03|58030|XX001|XX002)$/

export function failureOf(error: unknown): Failure {
  const code = codeOf(error)
  if (UNREACHABLE.test(code)) return 'unreachable'
  if (LOST.test(code)) return 'lost'
  if (code === '25006') return 'read_only'
  if (code === '40001' || code === '40P01') return 'conflict'
  return EXHAUSTED.test(code) ? 'exhausted' : 'defect'
}

/** The error for the domain. The driver's own holds the statement's values, so only its code and words are passed on. */
export function unavailable(error: unknown, words = 'PostgreSQL cannot be used'): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  const code = codeOf(error)
  const said = error instanceof Error ? error.message : ''
  return new StoreUnavailable(`${words}${code === '' ? '' : ` (${code})`}`, { cause: new Error(said) })
}

/** PostgreSQL's error without its details, which name the values of the row. */
export function withoutValues(error: unknown): unknown {
  const code = codeOf(error)
  return error instanceof Error && code !== '' ? coded(code, error.message) : error
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** An error of our own with a code, as the driver and Node give theirs. */
export function coded(code: string, words: string): Error {
  return Object.assign(new Error(words), { code })
}
