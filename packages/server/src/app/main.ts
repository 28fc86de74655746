/** The entry point of the command line: finds the command, reads its arguments, runs it, and prints its errors. */

import { redactor } from '../observability/log/redaction.ts'
import { readArguments } from '../operators/terminal/arguments.ts'
import {
  type Command,
  type CommandEntry,
  type CommandEnvironment,
  CommandError,
  EXIT,
  UsageError,
} from '../operators/terminal/command.ts'
import { nearest } from '../protocol/oauth/nearest.ts'
import { version } from './compose/version.ts'
import { commandHelp, overview } from './help.ts'
import { ownCommands } from './own-commands.ts'

/** Runs `grantor ARGV…` and resolves to the exit code: 0 done, 1 failed, 2 wrong command line or settings. */
export function main(argv: readonly string[], environment: CommandEnvironment = thisProcess()): Promise<number> {
  return exitOf(() => dispatch(argv, environment), environment)
}

/** Runs a program that is one command, such as `test-issuer` of `@grantor/testing`. */
export function runCommand(
  command: Command,
  argv: readonly string[],
  environment: CommandEnvironment = thisProcess(),
): Promise<number> {
  return exitOf(() => run(command, argv, environment), environment)
}

async function exitOf(action: () => Promise<number>, environment: CommandEnvironment): Promise<number> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof CommandError)) return reportDefect(error, environment)
    const [first = '', ...rest] = error.lines
    environment.printError(`grantor: ${first}`)
    for (const line of rest) environment.printError(`  ${line}`)
    return error.exit
  }
}

async function dispatch(argv: readonly string[], environment: CommandEnvironment): Promise<number> {
  const [first, second] = argv
  if (first === undefined) {
    environment.printError(overview(await loadAll()))
    return EXIT.usage
  }
  if (['--help', '-h', 'help'].includes(first)) return help(argv.slice(1), environment)
  if (['--version', '-v', 'version'].includes(first)) {
    environment.print(version())
    return EXIT.done
  }
  const entry = findIn(ownCommands, argv) ?? findIn(await allCommands(), argv)
  if (entry) return run(await entry.load(), argv.slice(entry.name.split(' ').length), environment)
  const commands = await allCommands()
  if (isGroup(commands, first) && (second === undefined || second === '--help' || second === '-h')) {
    const isRequested = second !== undefined
    const page = overview(await loadAll(first), first)
    if (isRequested) environment.print(page)
    else environment.printError(page)
    return isRequested ? EXIT.done : EXIT.usage
  }
  throw unknownCommand(commands, argv)
}

async function run(command: Command, args: readonly string[], environment: CommandEnvironment): Promise<number> {
  const { help: isHelpRequested, options, operands } = readArguments(command, args)
  if (!isHelpRequested) return command.run({ options, operands }, environment)
  environment.print(commandHelp(command))
  return EXIT.done
}

/** `grantor help clients create` is `grantor clients create --help`. */
async function help(topic: readonly string[], environment: CommandEnvironment): Promise<number> {
  if (topic.length > 0) return dispatch([...topic, '--help'], environment)
  environment.print(overview(await loadAll()))
  return EXIT.done
}

/** The operations are loaded only for a command that needs them: a server without admin API does not. */
async function allCommands(): Promise<readonly CommandEntry[]> {
  return (await import('./commands.ts')).commands
}

function findIn(commands: readonly CommandEntry[], argv: readonly string[]): CommandEntry | undefined {
  return commands.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '))
}

function isGroup(commands: readonly CommandEntry[], word: string): boolean {
  return commands.some(({ name }) => name.startsWith(`${word} `))
}

async function loadAll(group?: string): Promise<Command[]> {
  const commands = await allCommands()
  return Promise.all(commands.filter(({ name }) => !group || name.startsWith(`${group} `)).map(({ load }) => load()))
}

function unknownCommand(commands: readonly CommandEntry[], argv: readonly string[]): UsageError {
  const names = commands.map(({ name }) => name)
  const words = argv.slice(0, isGroup(commands, argv[0] ?? '') ? 2 : 1).filter((word) => !word.startsWith('-'))
  const typed = words.length > 0 ? words.join(' ') : (argv[0] ?? '')
  const groups = commands.map(({ name }) => name.split(' ')[0] ?? '')
  const meant = nearest(argv.slice(0, 2).join(' '), names) ?? nearest(typed, [...names, ...groups])
  return new UsageError([`"${typed}" is not a command${meant ? `; did you mean grantor ${meant}?` : ''}`, 'See: grantor --help'])
}

/** A defect. Its text passes the log's redaction, because an error may quote its input. */
function reportDefect(error: unknown, environment: CommandEnvironment): number {
  const redact = redactor(
    Object.entries(environment.env).flatMap(([name, value]) => (/^GRANTOR_.*SECRET$/.test(name) && value ? [value] : [])),
  )
  environment.printError('grantor: an unexpected error occurred; please report this:')
  environment.printError(redact(error instanceof Error ? (error.stack ?? error.message) : String(error)))
  return EXIT.failed
}

function thisProcess(): CommandEnvironment {
  // `grantor clients list | head -1` closes the pipe early; that is not an error.
  let isRead = true
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    isRead = false
  })
  return {
    env: process.env,
    print: (line) => void process.stdout.write(`${line}\n`),
    isRead: () => isRead,
    printError: (line) => void process.stderr.write(`${line}\n`),
    ask: process.stdin.isTTY && process.stdout.isTTY ? askAtTerminal : undefined,
    now: () => Math.floor(Date.now() / 1000),
  }
}

async function askAtTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}
