/** The service's log: one JSON line per event (pino). Every line is redacted before it leaves the process. */
import { type Logger, destination as openDestination, pino } from 'pino'
import { redactor } from './redaction.ts'
import type { LogStream } from './request-log.ts'

export type { Logger } from 'pino'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

type LogOutput = {
  write(line: string): void
  /** Writes every buffered line before it returns. */
  flush?(): void
}

export type LoggerOptions = {
  level: LogLevel
  /** standard output when absent */
  destination?: LogOutput
  /** values that must never be logged, such as the configured secrets */
  secrets?: readonly string[]
}

/** Makes the logger of both servers (`loggerInstance` in fastify). `flush()` writes every buffered line before it returns. */
export function createLogger({ level, destination = standardOutput(), secrets = [] }: LoggerOptions): Logger {
  const redact = redactor(secrets)
  const flush = (): void => destination.flush?.()
  const output: LogStream & LogOutput = {
    redact,
    writeRedacted: (line) => destination.write(line),
    // Redact the finished line, not the arguments of the call, so that no caller, library or error stack bypasses the
    // redaction.
    write(line: string) {
      destination.write(redact(line))
      if (URGENT.test(line)) flush()
    },
    flush,
  }
  return pino({ level, base: null, timestamp: timeMember(), formatters: { level: (label) => ({ level: label }) } }, output)
}

/** The member `time` of a line. Under load, several lines have the same millisecond, and making its text is a tenth of a line's cost. */
function timeMember(): () => string {
  let [at, text] = [0, '']
  return () => {
    const now = new Date()
    if (now.getTime() !== at) [at, text] = [now.getTime(), `,"time":"${now.toISOString()}"`]
    return text
  }
}

/** Lines that are written at once: they may explain why the process ends. */
const URGENT = /^\{"level":"(?:warn|error|fatal)"/

/**
 * Bytes of one write. A pipe accepts up to PIPE_BUF bytes (4,096 on Linux) in one piece (POSIX, `write`), so the lines
 * of workers that share a pipe are not mixed.
 */
const ONE_WRITE = 4096

/** Milliseconds until a buffered line is written. */
const BUFFERED_FOR = 10

/** Bytes that are kept while writing is impossible. Later lines are dropped. */
const KEPT_AT_MOST = 1024 * 1024

/**
 * Standard output, buffered. `sync: true`, because with `sync: false` a line can be lost although it was flushed: sonic-boom then
 * writes in another thread, and neither `flush` nor `flushSync` waits for a write that has begun. `flush` does not call fsync;
 * `flushSync` would.
 */
function standardOutput(): LogOutput {
  const output = openDestination({
    dest: 1,
    sync: true,
    minLength: ONE_WRITE - 1,
    maxWrite: ONE_WRITE,
    maxLength: KEPT_AT_MOST,
    periodicFlush: BUFFERED_FOR,
  })
  // A full disk or a closed pipe must not end the service. Each flush tries again.
  output.on('error', () => undefined)
  process.on('exit', () => output.flush())
  return output
}
