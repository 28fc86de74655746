/** The logger of one request, which names it in each of its lines. Made when it is first used: nearly no request ever does. */
import type { FastifyBaseLogger } from 'fastify'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]
type Options = Parameters<FastifyBaseLogger['child']>[1]
type Level = Exclude<keyof FastifyBaseLogger, 'child' | 'level' | 'msgPrefix'>

/** For fastify's `childLoggerFactory`. */
export function requestLogger(logger: FastifyBaseLogger, bindings: Bindings, options: Options): FastifyBaseLogger {
  return new RequestLogger(logger, bindings, options)
}

class RequestLogger implements FastifyBaseLogger {
  readonly #logger: FastifyBaseLogger
  readonly #bindings: Bindings
  readonly #options: Options
  #made: FastifyBaseLogger | undefined

  constructor(logger: FastifyBaseLogger, bindings: Bindings, options: Options) {
    this.#logger = logger
    this.#bindings = bindings
    this.#options = options
  }

  get level(): string {
    return this.#own().level
  }

  set level(level: string) {
    this.#own().level = level
  }

  child(bindings: Bindings, options?: Options): FastifyBaseLogger {
    return this.#own().child(bindings, options)
  }

  fatal(...said: unknown[]): void {
    this.#say('fatal', said)
  }

  error(...said: unknown[]): void {
    this.#say('error', said)
  }

  warn(...said: unknown[]): void {
    this.#say('warn', said)
  }

  info(...said: unknown[]): void {
    this.#say('info', said)
  }

  debug(...said: unknown[]): void {
    this.#say('debug', said)
  }

  trace(...said: unknown[]): void {
    this.#say('trace', said)
  }

  silent(...said: unknown[]): void {
    this.#say('silent', said)
  }

  #say(level: Level, said: unknown[]): void {
    const own = this.#own()
    own[level].apply(own, said as [object])
  }

  #own(): FastifyBaseLogger {
    return (this.#made ??= this.#logger.child(this.#bindings, this.#options))
  }
}
