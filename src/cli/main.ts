/** The command line's front door: finds the command, reads its arguments, runs it, and turns what fails into words. */
import { nearest } from '../config/nearest.ts'
import { redactor } from '../ops/redaction.ts'
import { readArguments } from './arguments.ts'
import { type Command, EXIT, Failure, UsageFailure, type World } from './command.ts'
import { commands } from './commands.ts'
import { commandHelp, overview } from './help.ts'
import { version } from './version.ts'

/** Runs `grantor ARGV…` and resolves to the exit code: 0 done, 1 failed, 2 wrong command line or settings. */
export async function main(argv: readonly string[], world: World = thisProcess()): Promise<number> {
  try {
    return await dispatch(argv, world)
  } catch (error) {
    if (!(error instanceof Failure)) return reportDefect(error, world)
    const [first = '', ...rest] = error.lines
    world.complain(`grantor: ${first}`)
    for (const line of rest) world.complain(`  ${line}`)
    return error.exit
  }
}

async function dispatch(argv: readonly string[], world: World): Promise<number> {
  const [first, second] = argv
  if (first === undefined) {
    world.complain(overview(await loadAll()))
    return EXIT.usage
  }
  if (['--help', '-h', 'help'].includes(first)) return help(argv.slice(1), world)
  if (['--version', '-v', 'version'].includes(first)) {
    world.print(version())
    return EXIT.done
  }
  const found = find(argv)
  if (found) return run(await found.load(), argv.slice(found.name.split(' ').length), world)
  if (isGroup(first) && (second === undefined || second === '--help' || second === '-h')) {
    const asked = second !== undefined
    const page = overview(await loadAll(first), first)
    if (asked) world.print(page)
    else world.complain(page)
    return asked ? EXIT.done : EXIT.usage
  }
  throw unknownCommand(argv)
}

async function run(command: Command, args: readonly string[], world: World): Promise<number> {
  const { help: wanted, options, operands } = readArguments(command, args)
  if (!wanted) return command.run({ options, operands }, world)
  world.print(commandHelp(command))
  return EXIT.done
}

/** `grantor help clients create` is `grantor clients create --help`. */
async function help(topic: readonly string[], world: World): Promise<number> {
  if (topic.length > 0) return dispatch([...topic, '--help'], world)
  world.print(overview(await loadAll()))
  return EXIT.done
}

function find(argv: readonly string[]) {
  return commands.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '))
}

function isGroup(word: string): boolean {
  return commands.some(({ name }) => name.startsWith(`${word} `))
}

function loadAll(group?: string): Promise<Command[]> {
  return Promise.all(commands.filter(({ name }) => !group || name.startsWith(`${group} `)).map(({ load }) => load()))
}

function unknownCommand(argv: readonly string[]): UsageFailure {
  const words = argv.slice(0, isGroup(argv[0] ?? '') ? 2 : 1).filter((word) => !word.startsWith('-'))
  const typed = words.length > 0 ? words.join(' ') : (argv[0] ?? '')
  const groups = commands.map(({ name }) => name.split(' ')[0] ?? '')
  const meant = nearest(argv.slice(0, 2).join(' '), names()) ?? nearest(typed, [...names(), ...groups])
  return new UsageFailure([
    `"${typed}" is not a command${meant ? `; did you mean grantor ${meant}?` : ''}`,
    'See: grantor --help',
  ])
}

function names(): string[] {
  return commands.map(({ name }) => name)
}

/** A defect of ours. Its text passes the log's redaction, because an error may quote what it failed on. */
function reportDefect(error: unknown, world: World): number {
  const redact = redactor(
    Object.entries(world.env).flatMap(([name, value]) => (/^GRANTOR_.*SECRET$/.test(name) && value ? [value] : [])),
  )
  world.complain('grantor: something went wrong that should not have; please report this:')
  world.complain(redact(error instanceof Error ? (error.stack ?? error.message) : String(error)))
  return EXIT.failed
}

function thisProcess(): World {
  // `grantor clients list | head -1` closes the pipe early; what is left unread is no failure.
  let isRead = true
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    isRead = false
  })
  return {
    env: process.env,
    print: (line) => void process.stdout.write(`${line}\n`),
    isRead: () => isRead,
    complain: (line) => void process.stderr.write(`${line}\n`),
    ask: process.stdin.isTTY && process.stdout.isTTY ? ask : undefined,
    now: () => Math.floor(Date.now() / 1000),
  }
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}
