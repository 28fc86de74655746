/**
 * The primary of `serve --workers N`: it owns the listening socket and passes its connections to N workers, each a
 * complete auth service on the same store. The primary opens no store.
 */
import type { Settings } from '../../config/settings.ts'
import { createRateCounter } from '../../http/shared-rate-limit.ts'
import { type CommandEnvironment, UsageError } from '../../operators/terminal/command.ts'
import { limitsOf } from '../compose/rate-limits.ts'
import { catchStopSignals, closeServers, GRACE_SECONDS, shutDownOnSignals } from '../process/shutdown.ts'
import { allListening } from './listen.ts'
import { loggerFor } from './running.ts'
import { WorkerCrew } from './worker-crew.ts'
import { workerMetricsFor } from './worker-metrics.ts'

/** More than any machine can use; a typing error must not fill its memory. */
const MOST = 256

/** `--workers`; 1 if it is not given. */
export function workersFrom(text: string | undefined): number {
  if (text === undefined) return 1
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > MOST) throw new UsageError(`--workers must be a number from 1 to ${MOST}, not "${text}"`)
  return count
}

/** Runs until a signal; resolves to the exit code. Throws the `CommandError` of the first worker that cannot start. */
export async function runWorkers(
  { count, descriptors }: { count: number; descriptors: readonly number[] },
  settings: Settings<'serve'>,
  environment: CommandEnvironment,
): Promise<number> {
  const signal = catchStopSignals()
  const logger = loggerFor(settings)
  const metrics = await workerMetricsFor(settings, () => crew)
  const countEvent = createRateCounter({ perMinute: limitsOf(settings), now: () => environment.now() })
  const crew: WorkerCrew = new WorkerCrew({
    count,
    descriptors,
    logger,
    receive(worker, message) {
      if (message.kind === 'measured') return metrics?.keep(worker, message.snapshot)
      const keys = message.reports.flatMap(countEvent)
      if (keys.length > 0) crew.sendAll({ kind: 'over', keys })
    },
    lost: (worker) => metrics?.retire(worker),
  })
  const metricsServers = metrics ? [metrics.server] : []
  try {
    await allListening([crew.ready, ...(metrics ? [metrics.listen()] : [])])
  } catch (error) {
    await Promise.all([crew.kill(), closeServers(metricsServers)])
    throw error
  }
  const close = async () => {
    await crew.stop()
    await closeServers(metricsServers)
  }
  // Later than the last worker: workers apply the deadline themselves, and end at once if this process ends.
  const ended = shutDownOnSignals(close, { logger, signal, graceSeconds: settings.drainSeconds + GRACE_SECONDS + 0.5 })
  // Workers read their certificate themselves. The primary has no certificate, and the signal must not end it.
  if (settings.tlsCertFile !== undefined) process.on('SIGHUP', (signal) => crew.signalAll(signal))
  const pids = crew.working().map(({ pid }) => pid)
  logger.info({ url: settings.authUrl, ...settings.listen, workers: pids }, 'auth service is ready')
  return ended
}
