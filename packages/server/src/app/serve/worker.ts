/**
 * One worker of `serve --workers N`: a complete auth service, except for the listening socket, the metrics page and the
 * rate limits.
 */
import cluster from 'node:cluster'
import type { Settings } from '../../config/settings.ts'
import type { Limited } from '../../http/auth/service.ts'
import { createReportingRateLimit, type LimitedKeys } from '../../http/shared-rate-limit.ts'
import { type CommandEnvironment, CommandError } from '../../operators/terminal/command.ts'
import { limitsInForce } from '../compose/rate-limits.ts'
import { catchStopSignals, shutDownOnSignals } from '../process/shutdown.ts'
import { loggerFor, openAuthService } from './running.ts'
import { type ToPrimary, type ToWorker, WORKER_NUMBER, WORKER_SOCKET } from './worker-messages.ts'

/** The number of this worker; null if this process is not a worker of `serve`. */
export function workerNumber(env: CommandEnvironment['env']): number | null {
  return cluster.isWorker && env[WORKER_NUMBER] ? Number(env[WORKER_NUMBER]) : null
}

/** Runs until the primary sends `stop`. If the worker cannot start, it sends the reason to the primary, which ends it. */
export async function runWorker(number: number, settings: Settings<'serve'>, environment: CommandEnvironment): Promise<number> {
  const signal = catchStopSignals()
  const primary = connectPrimary()
  try {
    const logger = loggerFor(settings).child({ worker: number })
    const metrics = settings.metricsListen ? (await import('../../observability/metrics/metrics.ts')).createMetrics() : undefined
    const limits = limitsInForce(
      settings,
      primary.createLimit(() => environment.now()),
    )
    if (metrics) primary.measureWith(metrics.snapshot)
    const socket = environment.env[WORKER_SOCKET]
    const descriptor = socket === undefined ? undefined : Number(socket)
    const now = () => environment.now()
    const { close, drain } = await openAuthService(settings, { logger, now, metrics, limits, descriptor })
    const ended = shutDownOnSignals(close, { logger, drain, signal, stopRequested: primary.stop })
    primary.tell({ kind: 'ready' })
    return await ended
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    primary.tell({ kind: 'failed', lines: error.lines, exit: error.exit })
    return await endedByPrimary()
  } finally {
    // Otherwise the open channel would keep the process alive. If the primary exits first, node ends its workers at
    // once.
    cluster.worker?.disconnect()
  }
}

function connectPrimary() {
  let measure: (() => Promise<ToPrimary>) | undefined
  let learn: ((message: ToWorker & { kind: 'over' }) => void) | undefined
  const stopRequest = Promise.withResolvers<void>()

  // A missing primary is not an error here: this process ends with it.
  const tell = (message: ToPrimary): void => void process.send?.(message, undefined, undefined, () => undefined)

  process.on('message', (message: ToWorker) => {
    switch (message.kind) {
      case 'stop':
        return stopRequest.resolve()
      case 'over':
        return learn?.(message)
      case 'measure':
        return void measure?.().then(tell)
    }
  })

  return {
    tell,
    /** resolves when the primary sends `stop` */
    stop: stopRequest.promise,
    measureWith(snapshot: () => Promise<(ToPrimary & { kind: 'measured' })['snapshot']>): void {
      measure = async () => ({ kind: 'measured', snapshot: await snapshot() })
    },
    createLimit(now: () => number) {
      const report = inBatches<LimitedKeys<Limited>>((reports) => tell({ kind: 'counted', reports }))
      const limit = createReportingRateLimit({ report, now })
      learn = ({ keys }) => keys.forEach(limit.learn)
      return limit
    },
  }
}

/** Collects the events of one turn of the event loop, so that a flood of events is one message per turn. */
function inBatches<Item>(send: (items: Item[]) => void): (item: Item) => void {
  let gathered: Item[] = []
  return (item) => {
    if (gathered.push(item) > 1) return
    setImmediate(() => {
      send(gathered)
      gathered = []
    })
  }
}

function endedByPrimary(): Promise<never> {
  return new Promise(() => undefined)
}
