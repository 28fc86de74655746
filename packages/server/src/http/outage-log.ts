/**
 * An outage as few lines: one when it begins, one a minute with the number of failures, one when it ends. With a line for each failed request, the log
 * would have thousands of lines, and other lines would be rotated away.
 */
import type { FastifyBaseLogger } from 'fastify'

export type OutageLog = {
  /** A request or a background task failed because of the outage. The first line has the facts. */
  failed(facts: Readonly<Record<string, unknown>>): void
  /** something worked that fails in an outage; to be called often, and cheap without an outage */
  works(): void
}

export type OutageOptions = {
  logger: Pick<FastifyBaseLogger, 'error' | 'info'>
  /** epoch seconds */
  now: () => number
  words: { begun: string; continues: string; ended: string }
  /** Called with each minute of an outage, and at its end. */
  note?: (outage: { since: number; failedAt: number }) => void
}

/** Seconds without a failure after which an outage has ended. Reads may work while writes fail. */
const QUIET = 10
/** Seconds between two lines. */
const LINE_EVERY = 60

type Outage = { since: number; failures: number; failedAt: number; notedAt: number }

/** The messages of an error and of its causes, for a line about an outage: the stack would be of this program, and the fault is elsewhere. */
export function messagesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  const further = cause === undefined ? '' : messagesOf(cause)
  return further === '' || message.includes(further) ? message : `${message}: ${further}`
}

export function createOutageLog({ logger, now, words, note = () => undefined }: OutageOptions): OutageLog {
  let outage: Outage | null = null

  const factsOf = ({ since, failures }: Outage, at: number) => ({ failures, seconds: Math.max(0, Math.round(at - since)) })

  function noteMinute(present: Outage, at: number): void {
    if (at < present.notedAt + LINE_EVERY) return
    present.notedAt = at
    logger.error(factsOf(present, at), words.continues)
    note(present)
  }

  return {
    failed(facts) {
      const at = now()
      if (outage === null) {
        outage = { since: at, failures: 0, failedAt: at, notedAt: at }
        logger.error(facts, words.begun)
      }
      outage.failures += 1
      outage.failedAt = at
      noteMinute(outage, at)
    },
    works() {
      if (outage === null) return
      const at = now()
      if (at - outage.failedAt >= QUIET) {
        logger.info(factsOf(outage, outage.failedAt), words.ended)
        note(outage)
        outage = null
      } else noteMinute(outage, at)
    },
  }
}
