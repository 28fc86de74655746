/** What the primary of `serve --workers N` and its workers tell each other. */
import type { Limited } from '../http/service.ts'
import type { Counted, KeyOver } from '../ops/shared-rate-limit.ts'
import type { Snapshot } from '../ops/summed-metrics.ts'

export type ToPrimary =
  | { kind: 'ready' }
  /** it cannot start: a `Failure`'s lines and exit code */
  | { kind: 'failed'; lines: readonly string[]; exit: number }
  /** what is limited and has happened since the last report */
  | { kind: 'counted'; reports: Counted<Limited>[] }
  | { kind: 'measured'; snapshot: Snapshot }

export type ToWorker = { kind: 'stop' } | { kind: 'over'; keys: KeyOver<Limited>[] } | { kind: 'measure' }

/** In a worker's environment: which of the workers it is. Somebody else's cluster, such as a process manager's, has none. */
export const WORKER_NUMBER = 'SERVE_WORKER_NUMBER'
