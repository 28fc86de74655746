/** Work that a process repeats in the background until it stops. */
import type { Logger } from 'pino'

/** What a process repeats beside its requests. `stopping` aborts when the process stops, so that a long run can end early. */
export type Task = {
  name: string
  /** seconds between the end of a run and the next one */
  every: number
  run(stopping: AbortSignal): Promise<void>
}

/** A part of a service: what it does beside requests. */
export type Part = {
  tasks?: readonly Task[]
  /** Called once, while the tasks that run are stopped. */
  close?(): Promise<void>
}

export type Background = {
  /** Resolves when the current run, if any, has ended. */
  stop(): Promise<void>
}

/**
 * Runs a task repeatedly, never twice at a time. Only the first of several failures in a row is logged, and the next success: an outage of an hour is
 * two lines.
 */
export function repeat({ name, every, run: runOnce }: Task, logger: Pick<Logger, 'error' | 'info'>): Background {
  const stopping = new AbortController()
  let failing = false
  let running: Promise<void> = Promise.resolve()
  let timer = wait()

  // Unreferenced: background work does not keep a process alive that has nothing else to do.
  function wait() {
    return setTimeout(run, every * 1000).unref()
  }

  function run(): void {
    running = runOnce(stopping.signal)
      .then(
        () => {
          if (failing) logger.info({ task: name }, 'works again')
          failing = false
        },
        (error: unknown) => {
          if (!failing) logger.error({ task: name, err: error }, 'failed; it will be retried')
          failing = true
        },
      )
      .then(() => {
        if (!stopping.signal.aborted) timer = wait()
      })
  }

  return {
    stop() {
      stopping.abort()
      clearTimeout(timer)
      return running
    },
  }
}
