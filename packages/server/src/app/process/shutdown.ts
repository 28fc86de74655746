/**
 * An orderly shutdown: readiness ends, requests are still accepted for a while, then no new connections, requests in
 * progress are completed, exit 0.
 */
import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'

export type ShutdownOptions = {
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** begun at once; `close` is called when its seconds are over */
  drain?: { seconds: number; begin(): void } | undefined
  /** so many seconds after the drain the process exits, even if requests are still in progress */
  graceSeconds?: number
  /** from `catchStopSignals`; if absent, signals are caught from now on */
  signal?: Promise<StopSignal>
  /** another reason to stop, besides the signals: the primary sends its workers a message */
  stopRequested?: Promise<unknown>
}

/**
 * The rest of ten seconds after the default drain: two for the requests in progress at worst, and three and a half for
 * the notices.
 */
export const GRACE_SECONDS = 6

type StopSignal = 'SIGTERM' | 'SIGINT'

/**
 * Catches SIGTERM and SIGINT from now on. Call it before a server listens: otherwise a signal that arrives between the first request and
 * `shutDownOnSignals` would end the process in the middle of the request. A second signal exits at once.
 */
export function catchStopSignals(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let signalled = false
    const onSignal = (signal: StopSignal) => {
      // A second Ctrl-C is intended. A service manager, however, may send the signal to a primary and to its workers: a
      // worker counts the primary's message and its own signal as one request to stop, in either order.
      if (signalled) process.exit(signal === 'SIGINT' ? 130 : 143)
      signalled = true
      resolve(signal)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

/**
 * Waits for SIGTERM or SIGINT, then drains and calls `close`, once. Resolves to the exit code: 0 if everything closed,
 * 1 if closing failed. At the deadline the process exits with 0, even if slow clients keep connections open. A second
 * signal exits at once.
 */
export function shutDownOnSignals(
  close: () => Promise<void>,
  { logger, drain, graceSeconds = GRACE_SECONDS, signal = catchStopSignals(), stopRequested }: ShutdownOptions,
): Promise<number> {
  const drainSeconds = drain?.seconds ?? 0
  return new Promise((resolve) => {
    let stopping = false

    function stop(reason: { signal?: string }): void {
      if (stopping) return
      stopping = true
      drain?.begin()
      logger.info({ ...reason, ...(drain && { drainSeconds }) }, 'stopping: requests in progress are completed')
      // Kept after closing too, in case a connection stays open; unreferenced, so that the timer alone keeps nothing
      // alive.
      setTimeout(
        () => {
          logger.warn({ graceSeconds }, 'stopped with requests still in progress')
          process.exit(0)
        },
        (drainSeconds + graceSeconds) * 1000,
      ).unref()
      const drained = drainSeconds > 0 ? pause(drainSeconds * 1000) : Promise.resolve()
      drained.then(close).then(
        () => {
          logger.info('stopped')
          resolve(0)
        },
        (error: unknown) => {
          logger.error({ err: error }, 'stopping failed')
          resolve(1)
        },
      )
    }

    void signal.then((name) => stop({ signal: name }))
    void stopRequested?.then(() => stop({}))
  })
}

/** The common part of fastify servers and plain servers. */
export type Closable = { server: Server; close(): PromiseLike<unknown> }

/** Closes servers together. Connections that clients keep open are closed as soon as they have no request. */
export async function closeServers(servers: readonly Closable[]): Promise<void> {
  // A connection with a request in progress when `close` begins becomes idle only later, and would keep the server open
  // until its client or the keep-alive timeout closes it.
  const sweep = setInterval(() => {
    for (const { server } of servers) server.closeIdleConnections()
  }, 50)
  try {
    await Promise.all(servers.map((each) => each.close()))
  } finally {
    clearInterval(sweep)
  }
}
