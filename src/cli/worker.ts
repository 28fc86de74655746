/** One worker of `serve --workers N`: a whole auth service, but for the listening socket, the metrics page and the rate limits. */
import cluster from 'node:cluster'
import type { Settings } from '../config/settings.ts'
import type { Limited } from '../http/service.ts'
import { type Counted, createReportingRateLimit } from '../ops/shared-rate-limit.ts'
import { shutDownOnSignals } from '../ops/shutdown.ts'
import { Failure, type World } from './command.ts'
import { loggerFor, openAuthService } from './running.ts'
import { type ToPrimary, type ToWorker, WORKER_NUMBER } from './worker-messages.ts'

/** Which worker this process is; null where it is none of ours. */
export function workerNumber(env: World['env']): number | null {
  return cluster.isWorker && env[WORKER_NUMBER] ? Number(env[WORKER_NUMBER]) : null
}

/** Runs until it is told to stop. Where it cannot start it tells the primary why, and is ended by it. */
export async function runWorker(number: number, settings: Settings<'serve'>, world: World): Promise<number> {
  const primary = connectPrimary()
  try {
    const logger = loggerFor(settings).child({ worker: number })
    const metrics = settings.metricsListen ? (await import('../ops/metrics.ts')).createMetrics() : undefined
    const limits = settings.rateLimit ? primary.createLimit(() => world.now()) : undefined
    if (metrics) primary.measureWith(metrics.snapshot)
    const { close, drain } = await openAuthService(settings, { logger, now: () => world.now(), metrics, limits })
    const ended = shutDownOnSignals(close, { logger, drain, stopRequested: primary.stop })
    primary.tell({ kind: 'ready' })
    return await ended
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    primary.tell({ kind: 'failed', lines: error.lines, exit: error.exit })
    return await endedByPrimary()
  } finally {
    // Without it the channel would hold the process. Should the primary go first, node ends its workers at once.
    cluster.worker?.disconnect()
  }
}

function connectPrimary() {
  let measure: (() => Promise<ToPrimary>) | undefined
  let learn: ((message: ToWorker & { kind: 'over' }) => void) | undefined
  const told = Promise.withResolvers<void>()

  // A primary that is gone is no defect here: this process ends with it.
  const tell = (message: ToPrimary): void => void process.send?.(message, undefined, undefined, () => undefined)

  process.on('message', (message: ToWorker) => {
    switch (message.kind) {
      case 'stop':
        return told.resolve()
      case 'over':
        return learn?.(message)
      case 'measure':
        return void measure?.().then(tell)
    }
  })

  return {
    tell,
    /** resolves once the primary says so */
    stop: told.promise,
    measureWith(snapshot: () => Promise<(ToPrimary & { kind: 'measured' })['snapshot']>): void {
      measure = async () => ({ kind: 'measured', snapshot: await snapshot() })
    },
    createLimit(now: () => number) {
      const report = inBatches<Counted<Limited>>((reports) => tell({ kind: 'counted', reports }))
      const limit = createReportingRateLimit({ report, now })
      learn = ({ keys }) => keys.forEach(limit.learn)
      return limit
    },
  }
}

/** Gathers what comes in one turn of the event loop: a flood of events is one message a turn. */
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
