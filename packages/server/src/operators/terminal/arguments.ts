/** Reads the arguments of a command, and reports all faults at once, each with a suggestion. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearest } from '../../protocol/oauth/nearest.ts'
import { type Command, type OptionSpec, type OptionSpecs, type OptionValues, UsageError } from './command.ts'

export type ParsedArguments<Specs extends OptionSpecs> = { help: boolean; options: OptionValues<Specs>; operands: string[] }

const HELP: OptionSpec = { words: 'Shows this help.' }

/** The options of a command, `--help` included. */
export function optionsOf(command: Pick<Command, 'options'>): OptionSpecs {
  return { ...command.options, help: HELP }
}

export function readArguments<Specs extends OptionSpecs>(
  command: Command<Specs>,
  args: readonly string[],
): ParsedArguments<Specs> {
  const specs = optionsOf(command)
  // Not strict: parseArgs would stop at the first fault, and its messages contain no suggestion.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: optionConfig(specs),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const help = values.help === true
  const faults = tokens.flatMap((token) => (token.kind === 'option' ? (optionFault(token, specs) ?? []) : []))
  // The word after an unknown option may be its value, so the operands are not checked then.
  if (faults.length === 0) faults.push(...operandFaults(command, positionals))
  faults.push(...findRepeated(tokens, specs))
  if (faults.length > 0 && !help) throw new UsageError([...faults, `See: grantor ${command.name} --help`])
  return { help, options: withLists(values, specs) as OptionValues<Specs>, operands: positionals }
}

function optionConfig(specs: OptionSpecs): ParseArgsOptionsConfig {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { value, repeatable }]) => [
      name,
      {
        type: value ? ('string' as const) : ('boolean' as const),
        multiple: repeatable === true,
        ...(name === 'help' ? { short: 'h' } : {}),
      },
    ]),
  )
}

type OptionToken = { kind: 'option'; name: string; rawName: string; value: string | undefined; inlineValue: boolean | undefined }

function optionFault({ name, rawName, value, inlineValue }: OptionToken, specs: OptionSpecs): string | null {
  const spec = specs[name]
  if (!spec) {
    const meant = nearest(name, Object.keys(specs))
    return `${rawName} is not an option here${meant ? `; did you mean --${meant}?` : ''}`
  }
  if (!spec.value) return value === undefined ? null : `${rawName} takes no value`
  if (value === undefined || value === '') return `${rawName} needs a value: ${rawName} ${spec.value}`
  // In `--name --scope x` the name was most likely forgotten. A value that begins with a dash can be joined to its
  // option.
  if (!inlineValue && value.startsWith('-')) return `${rawName} needs a value; write ${rawName}=${value} if ${value} is meant`
  if (spec.choices && !spec.choices.includes(value)) return `${rawName} must be one of ${spec.choices.join(', ')}, not "${value}"`
  return null
}

function operandFaults({ operands = [] }: Pick<Command, 'operands'>, given: readonly string[]): string[] {
  return [
    ...operands.slice(given.length).map(({ name }) => `${name} is missing`),
    ...given.slice(operands.length).map((extra) => `"${extra}" is one argument too many`),
  ]
}

/** A non-repeatable option that was given twice: which value counts would be a guess. */
function findRepeated(tokens: readonly { kind: string; name?: string }[], specs: OptionSpecs): string[] {
  const names = tokens.flatMap((token) => (token.kind === 'option' && token.name !== undefined ? [token.name] : []))
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  return [...twice]
    .filter((name) => specs[name]?.value && !specs[name].repeatable)
    .map((name) => `--${name} may be given once only`)
}

function withLists(values: Readonly<Record<string, unknown>>, specs: OptionSpecs): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { value, repeatable }]) => [
      name,
      values[name] ?? (repeatable ? [] : value ? undefined : false),
    ]),
  )
}
