/** Work a process does beside answering, over and over until it is stopped. */
import type { Logger } from 'pino'

export type Background = {
  /** Resolves once the run under way, if any, is over. */
  stop(): Promise<void>
}

/**
 * Runs `task` every so often, never twice at a time. A failure is logged when it begins and when it is over, not at
 * every try: an outage of an hour is two lines.
 */
export function repeatEvery(
  seconds: number,
  name: string,
  task: () => Promise<void>,
  logger: Pick<Logger, 'error' | 'info'>,
): Background {
  let stopped = false
  let failing = false
  let running: Promise<void> = Promise.resolve()
  let timer = wait()

  // Unreferenced: what is done beside answering keeps no process alive that answers nothing any more.
  function wait() {
    return setTimeout(run, seconds * 1000).unref()
  }

  function run(): void {
    running = task()
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
        if (!stopped) timer = wait()
      })
  }

  return {
    stop() {
      stopped = true
      clearTimeout(timer)
      return running
    },
  }
}
