/** An orderly end: no new connections, requests under way are answered, then exit 0, within ten seconds whatever happens. */
import type { Server } from 'node:http'
import type { Logger } from 'pino'

export type ShutdownOptions = {
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** after this many seconds the process ends with what is still under way */
  graceSeconds?: number
}

/**
 * Waits for SIGTERM or SIGINT, then calls `close` once. Resolves to the exit code: 0 when everything closed, 1 when
 * closing failed. At the deadline the process ends with 0 by itself, whatever slow clients still hold. A second
 * signal ends it at once.
 */
export function shutDownOnSignals(close: () => Promise<void>, { logger, graceSeconds = 8 }: ShutdownOptions): Promise<number> {
  return new Promise((resolve) => {
    let closing = false
    const stop = (signal: 'SIGTERM' | 'SIGINT') => {
      // Somebody pressing Ctrl-C twice means it.
      if (closing) process.exit(signal === 'SIGINT' ? 130 : 143)
      closing = true
      logger.info({ signal }, 'stopping: requests under way are answered')
      // Kept after closing too, for a connection that nobody closed; unreferenced, so that it alone holds up nothing.
      setTimeout(() => {
        logger.warn({ graceSeconds }, 'stopped with requests still under way')
        process.exit(0)
      }, graceSeconds * 1000).unref()
      close().then(
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
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
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
