/** A queue of calls to other servers: a few at once, a bounded number waiting, and an end that leaves none of them open. */

export type CallQueue<Outcome> = {
  /** Runs the call when its turn comes. Resolves with `onStop` or `onOverflow` if the call is not awaited to its end; rejects if `call` rejects. */
  run(call: () => Promise<Outcome>): Promise<Outcome>
  /** Settles all calls with `onStop`, also the calls that are in progress: they may or may not arrive. */
  stop(): void
}

export type CallQueueOptions<Outcome> = {
  /** the most calls in progress */
  atOnce: number
  /** the most calls that wait; further ones are refused with `onOverflow` */
  waitingAtMost: number
  onStop: Outcome
  onOverflow: Outcome
}

export function createCallQueue<Outcome>(options: CallQueueOptions<Outcome>): CallQueue<Outcome> {
  const { atOnce, waitingAtMost, onStop, onOverflow } = options
  const waiting: (() => Promise<void>)[] = []
  const open = new Set<(outcome: Outcome) => void>()
  let isStopped = false
  let inProgress = 0

  function startNext(): void {
    if (inProgress >= atOnce || isStopped) return
    const start = waiting.shift()
    if (!start) return
    inProgress++
    void start().finally(() => {
      inProgress--
      startNext()
    })
  }

  return {
    run(call) {
      if (isStopped) return Promise.resolve(onStop)
      if (waiting.length >= waitingAtMost) return Promise.resolve(onOverflow)
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      open.add(resolve)
      waiting.push(() => call().then(resolve, reject))
      startNext()
      return promise.finally(() => open.delete(resolve))
    },
    stop() {
      isStopped = true
      for (const settle of open) settle(onStop)
    },
  }
}
