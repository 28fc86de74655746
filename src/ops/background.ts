/** Work a process does beside answering, over and over until it is stopped. */
import type { Logger } from 'pino'

export type Background = {
  /** Resolves once the run under way, if any, is over. */
  stop(): Promise<void>
}

/**
 * Runs `task` every so often, never twice at a time. `stopping` aborts when the work is to stop; a long task ends early then. A failure is logged when it begins and when it is over, not at
 * every try: an outage of an hour is two lines.
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

  // Unreferenced: what is done beside answering keeps no process alive that answers nothing any more.
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
          if (!failing) logger.error({ task: name, err: error }, 'failed; it is tried again and again')
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
