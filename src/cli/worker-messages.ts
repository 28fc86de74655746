/** What the primary of `serve --workers N` and its workers tell each other. */
import type { KeyOver } from '../ops/shared-failure-limit.ts'
import type { Snapshot } from '../ops/summed-metrics.ts'

export type ToPrimary =
  | { kind: 'ready' }
  /** it cannot start: a `Failure`'s lines and exit code */
  | { kind: 'failed'; lines: readonly string[]; exit: number }
  /** the keys of each failure since the last report */
  | { kind: 'failures'; reports: string[][] }
  | { kind: 'measured'; snapshot: Snapshot }

export type ToWorker = { kind: 'stop' } | { kind: 'over'; keys: KeyOver[] } | { kind: 'measure' }

/** In a worker's environment: which of the workers it is. Somebody else's cluster, such as a process manager's, has none. */
export const WORKER_NUMBER = 'SERVE_WORKER_NUMBER'
