/** An orderly end: readiness over, requests still taken for a while, no new connections, requests under way answered, exit 0. */
import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'

export type ShutdownOptions = {
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** begun at once; `close` is called when its seconds are over */
  drain?: { seconds: number; begin(): void } | undefined
  /** this many seconds after the drain the process ends with what is still under way */
  graceSeconds?: number
  /** a reason to stop beside the signals: a worker is told by its primary */
  told?: Promise<unknown>
}

/** What is left of ten seconds after the default drain: for the requests under way, two at worst, and the notices, three and a half. */
export const GRACE_SECONDS = 6

/**
 * Waits for SIGTERM or SIGINT, then drains and calls `close`, once. Resolves to the exit code: 0 when everything closed,
 * 1 when closing failed. At the deadline the process ends with 0 by itself, whatever slow clients still hold. A second
 * signal ends it at once.
 */
export function shutDownOnSignals(
  close: () => Promise<void>,
  { logger, drain, graceSeconds = GRACE_SECONDS, told }: ShutdownOptions,
): Promise<number> {
  const drainSeconds = drain?.seconds ?? 0
  return new Promise((resolve) => {
    let stopping = false
    let signalled = false
    const onSignal = (signal: 'SIGTERM' | 'SIGINT') => {
      // Somebody pressing Ctrl-C twice means it. A service manager, though, may signal a primary and its workers
      // alike: what a worker was told by its primary and what it hears itself are one wish, in whichever order.
      if (signalled) process.exit(signal === 'SIGINT' ? 130 : 143)
      signalled = true
      stop({ signal })
    }

    function stop(reason: { signal?: string }): void {
      if (stopping) return
      stopping = true
      drain?.begin()
      logger.info({ ...reason, ...(drain && { drainSeconds }) }, 'stopping: requests under way are answered')
      // Kept after closing too, for a connection that nobody closed; unreferenced, so that it alone holds up nothing.
      setTimeout(
        () => {
          logger.warn({ graceSeconds }, 'stopped with requests still under way')
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

    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    void told?.then(() => stop({}))
  })
}

/** What fastify servers and plain ones have in common here. */
export type Closable = { server: Server; close(): PromiseLike<unknown> }

/** Closes servers together. Connections that clients keep open are ended as soon as they carry no request. */
export async function closeServers(servers: readonly Closable[]): Promise<void> {
  // A connection whose request is being answered when `close` begins goes idle only later, and would hold the
  // server open until its client or the keep-alive timeout ended it.
  const sweep = setInterval(() => {
    for (const { server } of servers) server.closeIdleConnections()
  }, 50)
  try {
    await Promise.all(servers.map((each) => each.close()))
  } finally {
    clearInterval(sweep)
  }
}
