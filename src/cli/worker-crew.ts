/** Keeps N worker processes running: starts them, starts them anew when they end, and ends them all. */
import cluster, { type Worker } from 'node:cluster'
import type { Logger } from '../ops/logger.ts'
import { Failure } from './command.ts'
import { type ToPrimary, type ToWorker, WORKER_NUMBER } from './worker-messages.ts'

export type Crew = {
  /** Resolves once all listen. Rejects with what hinders the first that cannot; the others are killed then. */
  ready: Promise<void>
  /** the process ids of those that take requests */
  working(): { id: number; pid: number }[]
  tellAll(message: ToWorker): void
  /** Hands a signal on to every worker. */
  signalAll(signal: NodeJS.Signals): void
  /** Tells all to stop; resolves when they are gone. */
  stop(): Promise<void>
  /** The same with kill -9. */
  kill(): Promise<void>
}

export type CrewOptions = {
  count: number
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** what a worker tells beside how its start went; `worker` is another number after every start */
  hear(worker: number, message: ToPrimary & { kind: 'counted' | 'measured' }): void
  /** that worker ended though nobody stopped it */
  lost(worker: number): void
}

type Seat = { number: number; worker: Worker; ready: boolean; failures: number }

/**
 * A worker that ends is followed by another after a tenth of a second, twice as long after each start that did not
 * last a minute, ten seconds at most: what ends every worker at once must not keep the processor busy for ever.
 */
const PAUSE = { first: 0.1, longest: 10, forgottenAfter: 60 }

export function startCrew({ count, logger, hear, lost }: CrewOptions): Crew {
  const seats: Seat[] = []
  let state: 'starting' | 'working' | 'ending' = 'starting'
  const { promise: ready, resolve: allReady, reject } = Promise.withResolvers<void>()
  // Connections go to one worker after the other; left to the kernel, they heap up on a few.
  cluster.schedulingPolicy = cluster.SCHED_RR
  for (let number = 1; number <= count; number++) fill(number, 0)

  function fill(number: number, failures: number): void {
    const worker = cluster.fork({ [WORKER_NUMBER]: String(number) })
    const seat: Seat = { number, worker, ready: false, failures }
    seats[number - 1] = seat
    const since = performance.now()
    worker.on('message', (message: ToPrimary) => listen(seat, message))
    // No process could be made, or its channel broke; the latter ends it, and is told below.
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
        if (state === 'working') logger.info({ worker: number, pid: worker.process.pid }, 'a worker took the place')
        if (state === 'starting' && seats.every((each) => each.ready)) {
          state = 'working'
          allReady()
        }
        return
      case 'failed':
        if (state === 'starting') return cannotStart(new Failure(message.lines, message.exit))
        logger.error({ worker: number, problem: message.lines.join(' ') }, 'a worker cannot start')
        return void worker.process.kill('SIGKILL')
      default:
        return hear(worker.id, message)
    }
  }

  function cannotStart(failure: Failure): void {
    if (state !== 'starting') return
    void kill()
    reject(failure)
  }

  function empty(seat: Seat, since: number, how: Record<string, unknown>): void {
    const { number, worker } = seat
    if (state === 'starting') {
      return cannotStart(new Failure(`worker ${number} ended before it was ready (${wordsOf(how)})`))
    }
    if (state === 'ending') return
    if (seat.ready) lost(worker.id)
    seat.ready = false
    const lasted = performance.now() - since > PAUSE.forgottenAfter * 1000
    const failures = lasted ? 0 : seat.failures
    const seconds = Math.min(PAUSE.longest, PAUSE.first * 2 ** failures)
    logger.error({ worker: number, pid: worker.process.pid, ...how, seconds }, 'a worker ended; another follows')
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

/** Told only where somebody listens: one that is ending does not, and that is no fault. */
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
