/** Work that a process repeats in the background until it stops. */
import type { Logger } from 'pino'

export type Background = {
  /** Resolves when the current run, if any, has ended. */
  stop(): Promise<void>
}

/**
 * Runs `task` repeatedly, never twice at a time. `stopping` aborts when the process stops, so that a long task can end
 * early. Only the first of several failures in a row is logged, and the next success: an outage of an hour is two
 * lines.
 */
export function repeatEvery(
  seconds: number,
  name: string,
  task: (stopping: AbortSignal) => Promise<void>,
  logger: Pick<Logger, 'error' | 'info'>,
): Background {
  const stopping = new AbortController()
  let failing = false
  let running: Promise<void> = Promise.resolve()
  let timer = wait()

  // Unreferenced: background work does not keep a process alive that has nothing else to do.
  function wait() {
    return setTimeout(run, seconds * 1000).unref()
  }

  function run(): void {
    running = task(stopping.signal)
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
