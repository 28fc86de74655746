/** The service's log: one JSON line per event (pino), from which every secret is taken out before it leaves the process. */
import { type DestinationStream, destination as fileDestination, type Logger, pino, stdTimeFunctions } from 'pino'
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
  const target = destination ?? fileDestination(1)
  // The finished line is cleaned, not the call's arguments: whatever a caller, a library or an error's stack
  // puts in, it passes here.
  const cleaned: DestinationStream = { write: (line) => target.write(redact(line)) }
  return pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    cleaned,
  )
}
