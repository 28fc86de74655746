/** What a command is: its words for `--help`, the options it takes, and what it does. */
import type { Program } from '../config/settings.ts'

export type OptionSpec = {
  /** what stands for the value in the help, as in URI; an option without one is a flag */
  value?: string
  repeatable?: true
  /** the only values there are */
  choices?: readonly string[]
  words: string
}
export type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** What was given: `true` or `false` for a flag, a list for a repeatable option, else the value or `undefined`. */
export type OptionValues<Specs extends OptionSpecs> = {
  [Name in keyof Specs]: Specs[Name] extends { value: string; repeatable: true }
    ? string[]
    : Specs[Name] extends { value: string }
      ? string | undefined
      : boolean
}

/** The world a command runs in, so that a test can give it another. */
export type World = {
  env: Readonly<Record<string, string | undefined>>
  /** one line to standard output, without its newline */
  print(line: string): void
  /** whether somebody reads what is printed: not after `| head` has closed the pipe; absent where somebody always does */
  isRead?: () => boolean
  /** one line to standard error */
  complain(line: string): void
  /** one line from the person at the terminal; absent where nobody sits there */
  ask?: ((question: string) => Promise<string>) | undefined
  /** epoch seconds */
  now(): number
}

export type Command<Specs extends OptionSpecs = OptionSpecs> = {
  /** as typed after `grantor`, as in `clients create` */
  name: string
  /** one line for the list of commands */
  words: string
  /** more for its own help, a paragraph each */
  about?: readonly string[]
  operands?: readonly { name: string; words: string }[]
  options: Specs
  examples: readonly string[]
  /** whose settings it reads, for its help */
  program?: Program
  /** Resolves to the exit code. Throws `Failure` for what a person can put right. */
  run(given: { options: OptionValues<Specs>; operands: readonly string[] }, world: World): Promise<number>
}

/** Keeps the types of the options, so that `run` knows what it was given. */
export function defineCommand<const Specs extends OptionSpecs>(command: Command<Specs>): Command<Specs> {
  return command
}

/** Done. Something failed that another try, or another state of the world, may put right. The command line or the settings are wrong. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** Something a person can put right. `lines` tell what happened and what to do. */
export class Failure extends Error {
  override readonly name = 'Failure'
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
export class UsageFailure extends Failure {
  constructor(lines: string | readonly string[]) {
    super(lines, EXIT.usage)
  }
}
