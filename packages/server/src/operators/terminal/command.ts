/** The definition of a command: its help texts, its options, and its implementation. */
import type { Program } from '../../config/settings.ts'

export type OptionSpec = {
  /** the placeholder of the value in the help, such as URI; an option without a placeholder is a flag */
  value?: string
  repeatable?: true
  /** the accepted values, if they are limited */
  choices?: readonly string[]
  words: string
}
export type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** The given options: `true` or `false` for a flag, a list for a repeatable option, otherwise the value or `undefined`. */
export type OptionValues<Specs extends OptionSpecs> = {
  [Name in keyof Specs]: Specs[Name] extends { value: string; repeatable: true }
    ? string[]
    : Specs[Name] extends { value: string }
      ? string | undefined
      : boolean
}

/** The environment of a command, so that a test can pass another. */
export type CommandEnvironment = {
  env: Readonly<Record<string, string | undefined>>
  /** one line to standard output, without its newline */
  print(line: string): void
  /**
   * false once `| head`, for example, has closed the pipe, so that further output is not read; if absent, the output is
   * always read
   */
  isRead?: () => boolean
  /** one line to standard error */
  printError(line: string): void
  /** reads one line from the terminal; absent if the process has no terminal */
  ask?: ((question: string) => Promise<string>) | undefined
  /** epoch seconds */
  now(): number
}

export type Command<Specs extends OptionSpecs = OptionSpecs> = {
  /** as typed after `grantor`, for example `clients create` */
  name: string
  /** true for a program of its own, which is called without `grantor` */
  isProgram?: true
  /** one line for the list of commands */
  words: string
  /** a further paragraph for the command's own help, or several */
  about?: string | readonly string[]
  operands?: readonly { name: string; words: string }[]
  options: Specs
  examples: readonly string[]
  /** the program whose settings the command reads, for its help */
  program?: Program
  /** Resolves to the exit code. Throws `CommandError` for an error that the operator can correct. */
  run(given: { options: OptionValues<Specs>; operands: readonly string[] }, environment: CommandEnvironment): Promise<number>
}

/** A command by its name, so that it is loaded only when it is used. */
export type CommandEntry = { name: string; load(): Promise<Command> }

/** Keeps the types of the options, so that `run` receives typed values. */
export function defineCommand<const Specs extends OptionSpecs>(command: Command<Specs>): Command<Specs> {
  return command
}

/** 0: done. 1: a failure that another attempt or another state may correct. 2: the command line or the settings are wrong. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** An error that the operator can correct. `lines` describe the error and the remedy. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exit: number
  readonly lines: readonly string[]

  constructor(lines: string | readonly string[], exit: number = EXIT.failed) {
    const all = typeof lines === 'string' ? [lines] : lines
    super(all.join('\n'))
    this.lines = all
    this.exit = exit
  }
}

/** The command line itself is wrong. */
export class UsageError extends CommandError {
  constructor(lines: string | readonly string[]) {
    super(lines, EXIT.usage)
  }
}
