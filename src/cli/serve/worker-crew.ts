/** Keeps N worker processes running: starts them, replaces workers that end, and stops all of them. */
import cluster, { type Worker } from 'node:cluster'
import type { Logger } from '../../ops/logger.ts'
import { CommandError } from '../terminal/command.ts'
import { type ToPrimary, type ToWorker, WORKER_NUMBER } from './worker-messages.ts'

export type Crew = {
  /**
   * Resolves when all workers listen. Rejects with the error of the first worker that cannot start; the others are
   * killed then.
   */
  ready: Promise<void>
  /** the process ids of the workers that accept requests */
  working(): { id: number; pid: number }[]
  tellAll(message: ToWorker): void
  /** Forwards a signal to every worker. */
  signalAll(signal: NodeJS.Signals): void
  /** Sends all workers the message to stop; resolves when they have exited. */
  stop(): Promise<void>
  /** The same with kill -9. */
  kill(): Promise<void>
}

export type CrewOptions = {
  count: number
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** receives a worker's messages after its start; each start has a new number `worker` */
  hear(worker: number, message: ToPrimary & { kind: 'counted' | 'measured' }): void
  /** called if a worker ended unexpectedly */
  lost(worker: number): void
}

type Seat = { number: number; worker: Worker; ready: boolean; failures: number }

/**
 * A worker that ends is replaced after a tenth of a second. The pause doubles after each start that did not last a
 * minute, up to ten seconds: an error that ends every worker at once must not keep the processor busy.
 */
const PAUSE = { first: 0.1, longest: 10, forgottenAfter: 60 }

export function startCrew({ count, logger, hear, lost }: CrewOptions): Crew {
  const seats: Seat[] = []
  let state: 'starting' | 'working' | 'ending' = 'starting'
  const { promise: ready, resolve: allReady, reject } = Promise.withResolvers<void>()
  // Connections go to the workers in turn; the kernel's distribution would concentrate them on a few workers.
  cluster.schedulingPolicy = cluster.SCHED_RR
  for (let number = 1; number <= count; number++) fill(number, 0)

  function fill(number: number, failures: number): void {
    const worker = cluster.fork({ [WORKER_NUMBER]: String(number) })
    const seat: Seat = { number, worker, ready: false, failures }
    seats[number - 1] = seat
    const since = performance.now()
    worker.on('message', (message: ToPrimary) => listen(seat, message))
    // Either no process could be started, or its channel failed. The latter ends the process, and the exit event
    // handles it.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) empty(seat, since, { problem: error.message })
    })
    worker.on('exit', (code, signal) => empty(seat, since, { code, ...(signal ? { signal } : {}) }))
  }

  function listen(seat: Seat, message: ToPrimary): void {
    const { number, worker } = seat
    switch (message.kind) {
      case 'ready':
        seat.ready = true
        if (state === 'working') logger.info({ worker: number, pid: worker.process.pid }, 'a replacement worker is ready')
        if (state === 'starting' && seats.every((each) => each.ready)) {
          state = 'working'
          allReady()
        }
        return
      case 'failed':
        if (state === 'starting') return cannotStart(new CommandError(message.lines, message.exit))
        logger.error({ worker: number, problem: message.lines.join(' ') }, 'a worker cannot start')
        return void worker.process.kill('SIGKILL')
      default:
        return hear(worker.id, message)
    }
  }

  function cannotStart(failure: CommandError): void {
    if (state !== 'starting') return
    void kill()
    reject(failure)
  }

  function empty(seat: Seat, since: number, how: Record<string, unknown>): void {
    const { number, worker } = seat
    if (state === 'starting') {
      return cannotStart(new CommandError(`worker ${number} ended before it was ready (${wordsOf(how)})`))
    }
    if (state === 'ending') return
    if (seat.ready) lost(worker.id)
    seat.ready = false
    const lasted = performance.now() - since > PAUSE.forgottenAfter * 1000
    const failures = lasted ? 0 : seat.failures
    const seconds = Math.min(PAUSE.longest, PAUSE.first * 2 ** failures)
    logger.error({ worker: number, pid: worker.process.pid, ...how, seconds }, 'a worker ended; it will be replaced')
    setTimeout(() => {
      if (state === 'working') fill(number, failures + 1)
    }, seconds * 1000)
  }

  return {
    ready,
    working: () => seats.filter((seat) => seat.ready).map(({ worker }) => ({ id: worker.id, pid: worker.process.pid ?? 0 })),
    tellAll(message) {
      for (const { worker } of seats) tell(worker, message)
    },
    signalAll(signal) {
      for (const { worker } of seats) worker.process.kill(signal)
    },
    stop: () => endAll((worker) => tell(worker, { kind: 'stop' })),
    kill,
  }

  function kill(): Promise<void> {
    return endAll((worker) => worker.process.kill('SIGKILL'))
  }

  async function endAll(end: (worker: Worker) => void): Promise<void> {
    state = 'ending'
    const gone = seats.map(({ worker }) => goneOf(worker))
    for (const { worker } of seats) end(worker)
    await Promise.all(gone)
  }
}

/** Sends only if the channel is open: a worker that is exiting does not receive messages, which is not an error. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, undefined, () => undefined)
}

function goneOf(worker: Worker): Promise<void> {
  if (worker.isDead() || worker.process.pid === undefined) return Promise.resolve()
  return new Promise((resolve) => worker.once('exit', () => resolve()))
}

function wordsOf(how: Record<string, unknown>): string {
  return Object.entries(how)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}
