/** The service's log: one JSON line per event (pino), from which every secret is taken out before it leaves the process. */
import { fstatSync } from 'node:fs'
import { type DestinationStream, destination as fileDestination, type Logger, pino, stdTimeFunctions } from 'pino'
import { IN_ONE_WRITE, type LogLines, logLines, promptLines } from './log-lines.ts'
import { redactor } from './redaction.ts'

export type { Logger } from 'pino'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

export type LoggerOptions = {
  level: LogLevel
  /** where lines go; standard output when absent */
  destination?: { write(line: string): void }
  /** values that must never appear, such as the configured secrets */
  secrets?: readonly string[]
}

/** Makes the logger both servers are given (`loggerInstance` in fastify). */
export function createLogger({ level, destination, secrets = [] }: LoggerOptions): Logger {
  const redact = redactor(secrets)
  const lines = destination
    ? promptLines(destination)
    : logLines(fileDestination(1), fstatSync(1).isFile() ? IN_ONE_WRITE.file : IN_ONE_WRITE.pipe)
  // The finished line is cleaned, not the call's arguments: whatever a caller, a library or an error's stack
  // puts in, it passes here.
  const cleaned: DestinationStream = { write: (line) => (ORDINARY.test(line) ? lines.writeSoon : lines.write)(redact(line)) }
  const logger = pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    cleaned,
  )
  return Object.assign(logger, { [LINES]: lines })
}

// What nobody has to look at before the process can die.
const ORDINARY = /^\{"level":"(?:trace|debug|info)"/

// A property, because the loggers a framework derives from ours inherit it.
const LINES = Symbol('the lines of a logger')

/** The way past formatting and cleaning, for lines that are written by hand and hold nothing a caller chose. */
export function linesOf(logger: object): LogLines | undefined {
  return (logger as { [LINES]?: LogLines })[LINES]
}

/** What a logger says in each of its lines (`"worker":2,`), such as which process it is. */
export function ownMembers(logger: object): string {
  const text = JSON.stringify((logger as { bindings?(): object }).bindings?.() ?? {})
  return text === '{}' ? '' : `${text.slice(1, -1)},`
}
