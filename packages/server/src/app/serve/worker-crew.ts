/** Keeps N worker processes running: starts them, replaces workers that end, and stops all of them. */
import cluster, { type Worker } from 'node:cluster'
import type { Logger } from '../../observability/log/logger.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import { type ToPrimary, type ToWorker, WORKER_NUMBER, WORKER_SOCKET } from './worker-messages.ts'

export type CrewOptions = {
  count: number
  /** of the sockets that systemd passed, one for each worker; none if the primary opens the socket */
  descriptors: readonly number[]
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** receives a worker's messages after its start; each start has a new number `worker` */
  receive(worker: number, message: ToPrimary & { kind: 'counted' | 'measured' }): void
  /** called if a worker ended unexpectedly */
  lost(worker: number): void
}

type Seat = { number: number; worker: Worker; ready: boolean; failures: number }

/**
 * A worker that ends is replaced after a tenth of a second. The pause doubles after each start that did not last a
 * minute, up to ten seconds: an error that ends every worker at once must not keep the processor busy.
 */
const PAUSE = { first: 0.1, longest: 10, forgottenAfter: 60 }

export class WorkerCrew {
  /** Resolves when all workers listen. Rejects with the error of the first worker that cannot start; the others are killed then. */
  readonly ready: Promise<void>
  readonly #options: CrewOptions
  readonly #seats: Seat[] = []
  readonly #ready = Promise.withResolvers<void>()
  #state: 'starting' | 'working' | 'ending' = 'starting'

  constructor(options: CrewOptions) {
    this.#options = options
    this.ready = this.#ready.promise
    // Connections go to the workers in turn; the kernel's distribution would concentrate them on a few workers.
    cluster.schedulingPolicy = cluster.SCHED_RR
    for (let number = 1; number <= options.count; number++) this.#start(number, 0)
  }

  /** The process ids of the workers that accept requests. */
  working(): { id: number; pid: number }[] {
    return this.#seats.filter((seat) => seat.ready).map(({ worker }) => ({ id: worker.id, pid: worker.process.pid ?? 0 }))
  }

  sendAll(message: ToWorker): void {
    for (const { worker } of this.#seats) send(worker, message)
  }

  /** Forwards a signal to every worker. */
  signalAll(signal: NodeJS.Signals): void {
    for (const { worker } of this.#seats) worker.process.kill(signal)
  }

  /** Sends all workers the message to stop; resolves when they have exited. */
  stop(): Promise<void> {
    return this.#endAll((worker) => send(worker, { kind: 'stop' }))
  }

  /** The same with kill -9. */
  kill(): Promise<void> {
    return this.#endAll((worker) => worker.process.kill('SIGKILL'))
  }

  #start(number: number, failures: number): void {
    const worker = this.#fork(number)
    const seat: Seat = { number, worker, ready: false, failures }
    this.#seats[number - 1] = seat
    const since = performance.now()
    worker.on('message', (message: ToPrimary) => this.#receive(seat, message))
    // Either no process could be started, or its channel failed. The latter ends the process, and the exit event
    // handles it.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) this.#replace(seat, since, { problem: error.message })
    })
    worker.on('exit', (code, signal) => this.#replace(seat, since, { code, ...(signal ? { signal } : {}) }))
  }

  #fork(number: number): Worker {
    const descriptor = this.#options.descriptors[number - 1]
    if (descriptor === undefined) return cluster.fork({ [WORKER_NUMBER]: String(number) })
    cluster.setupPrimary({ stdio: ['inherit', 'inherit', 'inherit', 'ipc', descriptor] })
    return cluster.fork({ [WORKER_NUMBER]: String(number), [WORKER_SOCKET]: '4' })
  }

  #receive(seat: Seat, message: ToPrimary): void {
    const { number, worker } = seat
    const { logger, receive } = this.#options
    switch (message.kind) {
      case 'ready':
        return this.#noteReady(seat)
      case 'failed':
        if (this.#state === 'starting') return this.#failToStart(new CommandError(message.lines, message.exit))
        logger.error({ worker: number, problem: message.lines.join(' ') }, 'a worker cannot start')
        return void worker.process.kill('SIGKILL')
      default:
        return receive(worker.id, message)
    }
  }

  #noteReady(seat: Seat): void {
    seat.ready = true
    const { number: worker, worker: process } = seat
    if (this.#state === 'working')
      this.#options.logger.info({ worker, pid: process.process.pid }, 'a replacement worker is ready')
    if (this.#state === 'starting' && this.#seats.every((each) => each.ready)) {
      this.#state = 'working'
      this.#ready.resolve()
    }
  }

  #failToStart(failure: CommandError): void {
    if (this.#state !== 'starting') return
    void this.kill()
    this.#ready.reject(failure)
  }

  #replace(seat: Seat, since: number, how: Record<string, unknown>): void {
    const { number, worker } = seat
    if (this.#state === 'starting') {
      return this.#failToStart(new CommandError(`worker ${number} ended before it was ready (${wordsOf(how)})`))
    }
    if (this.#state === 'ending') return
    if (seat.ready) this.#options.lost(worker.id)
    seat.ready = false
    const lasted = performance.now() - since > PAUSE.forgottenAfter * 1000
    const failures = lasted ? 0 : seat.failures
    const seconds = Math.min(PAUSE.longest, PAUSE.first * 2 ** failures)
    const { logger } = this.#options
    logger.error({ worker: number, pid: worker.process.pid, ...how, seconds }, 'a worker ended; it will be replaced')
    setTimeout(() => {
      if (this.#state === 'working') this.#start(number, failures + 1)
    }, seconds * 1000)
  }

  async #endAll(end: (worker: Worker) => void): Promise<void> {
    this.#state = 'ending'
    const exits = this.#seats.map(({ worker }) => workerExit(worker))
    for (const { worker } of this.#seats) end(worker)
    await Promise.all(exits)
  }
}

/** Sends only if the channel is open: a worker that is exiting does not receive messages, which is not an error. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, undefined, () => undefined)
}

function workerExit(worker: Worker): Promise<void> {
  if (worker.isDead() || worker.process.pid === undefined) return Promise.resolve()
  return new Promise((resolve) => worker.once('exit', () => resolve()))
}

function wordsOf(how: Record<string, unknown>): string {
  return Object.entries(how)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}
