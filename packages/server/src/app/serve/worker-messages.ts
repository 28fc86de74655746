/** The messages between the primary of `serve --workers N` and its workers. */
import type { Limited } from '../../http/auth/service.ts'
import type { KeyOver, LimitedKeys } from '../../http/shared-rate-limit.ts'
import type { MetricsSnapshot } from '../../observability/metrics/summed-metrics.ts'

export type ToPrimary =
  | { kind: 'ready' }
  /** the worker cannot start: the lines and exit code of a `CommandError` */
  | { kind: 'failed'; lines: readonly string[]; exit: number }
  /** the limited events since the last report */
  | { kind: 'counted'; reports: LimitedKeys<Limited>[] }
  | { kind: 'measured'; snapshot: MetricsSnapshot }

export type ToWorker = { kind: 'stop' } | { kind: 'over'; keys: KeyOver<Limited>[] } | { kind: 'measure' }

/** In a worker's environment: its number. Workers of another cluster, such as a process manager's, do not have it. */
export const WORKER_NUMBER = 'SERVE_WORKER_NUMBER'
/** The descriptor of the socket on which the worker listens, if systemd passed a socket. */
export const WORKER_SOCKET = 'SERVE_WORKER_SOCKET'
