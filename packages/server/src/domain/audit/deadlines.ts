/** How long a response waits for its line of the trail, and an append for the chain. In milliseconds. */

const AWAITED_AT_MOST = 2000
/** The rest of the time above is for storing the lines outside of the chain. */
const APPENDED_WITHIN = 1000
/** After a failure, lines wait outside of the chain at once for this time. */
const APPEND_AGAIN_AFTER = 1000

/** Resolves after the time, or when `ended` aborts. Without `ended`, the pause does not keep the process alive. */
export type Pause = (milliseconds: number, ended?: AbortSignal) => Promise<void>

export function createDeadlines(pause: Pause) {
  /** Resolves to `overdue` if the time is over first. */
  async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | 'overdue'> {
    const ended = new AbortController()
    const isOverdue = pause(milliseconds, ended.signal).then(() => 'overdue' as const)
    return Promise.race([work, isOverdue]).finally(() => ended.abort())
  }

  return {
    /** Whether an append succeeds in time. */
    async succeedsInTime(append: Promise<unknown>): Promise<boolean> {
      const succeeds = append.then(
        () => true,
        () => false,
      )
      return (await within(APPENDED_WITHIN, succeeds)) === true
    },
    /** Resolves when the line is committed or lost, or when the response has waited long enough: then the line is stored later. */
    async settledOrOverdue(line: Promise<unknown>): Promise<void> {
      await within(AWAITED_AT_MOST, line)
    },
    beforeNextAppend: () => pause(APPEND_AGAIN_AFTER),
  }
}
