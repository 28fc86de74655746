/** The pages of `--help`. */
import { describeSettings } from '../config/describe.ts'
import { optionsOf } from '../operators/terminal/arguments.ts'
import type { Command, OptionSpec } from '../operators/terminal/command.ts'

const WIDTH = 100

/** The help of one command. */
export function commandHelp(command: Command): string {
  const operands = command.operands ?? []
  const usage = [...(command.isProgram ? [] : ['grantor']), command.name, ...operands.map(({ name }) => name), '[options]'].join(
    ' ',
  )
  const parts = [
    `${wrap(command.words, WIDTH).join('\n')}\n\nUsage: ${usage}`,
    ...[command.about ?? []].flat().map((paragraph) => wrap(paragraph, WIDTH).join('\n')),
    ...(operands.length > 0 ? [formatList('Operands', operands)] : []),
    formatList(
      'Options',
      Object.entries(optionsOf(command)).map(([name, spec]) => ({
        name: formatOption(name, spec),
        words: `${spec.words}${times(spec)}`,
      })),
    ),
    `${command.examples.length > 1 ? 'Examples' : 'Example'}:\n${command.examples.map((example) => `  ${example}`).join('\n')}`,
    ...(command.program
      ? [formatList('Settings (from the environment; more in docs/reference/settings.md)', describeSettings(command.program))]
      : []),
    formatList('Exit codes', [
      { name: '0', words: 'Done.' },
      { name: '1', words: 'Failed; the message explains why.' },
      { name: '2', words: 'The command line or the settings are wrong; nothing was done.' },
    ]),
  ]
  return parts.join('\n\n')
}

/** The list of all commands, or of one group such as `clients`. */
export function overview(commands: readonly Pick<Command, 'name' | 'words'>[], group?: string): string {
  const title = group
    ? `grantor ${group}: choose one of these`
    : 'Grantor: an OAuth 2.0 and OpenID Connect authorization server whose login is a wallet'
  const usage = group ? `Usage: grantor ${group} COMMAND [options]` : 'Usage: grantor COMMAND [options]'
  const parts = [
    `${title}\n\n${usage}`,
    formatList('Commands', commands),
    `For more about a command add --help${group ? '.' : '; grantor --version prints the version.'}`,
    ...(group ? [] : ['To try it on your own machine: grantor start']),
  ]
  return parts.join('\n\n')
}

function formatOption(name: string, { value }: OptionSpec): string {
  return value ? `--${name} ${value}` : `--${name}`
}

function times({ repeatable }: OptionSpec): string {
  return repeatable ? ' May be repeated.' : ''
}

function formatList(title: string, items: readonly { name: string; words: string }[]): string {
  const indent = Math.min(32, Math.max(...items.map(({ name }) => name.length)) + 4)
  const lines = items.flatMap(({ name, words }) => {
    const [first = '', ...rest] = wrap(words, WIDTH - indent)
    const head = `  ${name}`
    const below = rest.map((line) => ' '.repeat(indent) + line)
    // A name that is too long for its column gets a line of its own.
    return head.length + 2 > indent ? [head, ' '.repeat(indent) + first, ...below] : [head.padEnd(indent) + first, ...below]
  })
  return `${title}:\n${lines.join('\n')}`
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
