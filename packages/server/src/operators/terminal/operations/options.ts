/** The options of an operation's command, from the members of its input, and the input from the given options. */
import type { ResourceScope } from '../../../domain/model/records.ts'
import { readScopeWords } from '../../../domain/resources/scope-words.ts'
import type { Member, Members } from '../../members/member.ts'
import type { CommandOperation } from '../../operations/operation.ts'
import { type OptionSpec, type OptionSpecs, UsageError } from '../command.ts'
import { readPictureFile } from '../read-picture.ts'
import { walletFrom } from '../wallet-option.ts'
import { readJwks } from './read-jwks.ts'

type GivenOptions = Readonly<Record<string, unknown>>

/** `redirect_uris` is given as `--redirect-uri`, once for each. */
function optionName({ name, shape, option }: Member): string {
  const dashed = name.replaceAll('_', '-')
  return option?.name ?? (isList(shape) ? dashed.replace(/s$/, '') : dashed)
}

function isList({ kind }: Member['shape']): boolean {
  return kind === 'texts' || kind === 'scopes'
}

/** The option of a change that removes the value. */
function offOption({ name, option }: Member): [name: string, words: string] | null {
  if (!option?.off) return null
  return [option.off.name ?? `no-${name.replaceAll('_', '-')}`, option.off.words]
}

/** The members whose values the same option removes. */
function replacedBy(operation: CommandOperation, member: Member): Member[] {
  const name = member.option?.off?.name
  if (name === undefined) return []
  return membersWithOption(operation).filter((other) => other !== member && other.option?.off?.name === name)
}

function membersWithOption({ input }: Pick<CommandOperation, 'input'>): Member[] {
  return input.filter(({ option }) => option !== undefined && !option.isOperand)
}

export function optionSpecs(operation: CommandOperation): OptionSpecs {
  const members = membersWithOption(operation)
  const own = members.flatMap(specsOf)
  if (operation.kind !== 'change') return Object.fromEntries(own)
  const offs = members.flatMap((member) => {
    const off = offOption(member)
    if (off) return [[off[0], { words: off[1] }] as const]
    const name = optionName(member)
    return member.shape.kind === 'flag' ? [[`no-${name}`, { words: `Removes --${name}.` }] as const] : []
  })
  return Object.fromEntries([...own, ...offs])
}

function specsOf(member: Member): (readonly [string, OptionSpec])[] {
  const { option, shape, required } = member
  if (!option) return []
  const spec: OptionSpec = {
    words: required ? `${option.words} Required.` : option.words,
    ...(option.value !== undefined && { value: option.value }),
    ...(isList(shape) && { repeatable: true as const }),
    ...('choices' in shape && shape.choices && { choices: shape.choices }),
  }
  return [[optionName(member), spec]]
}

/** The input that the options describe. Their choices were checked when they were read. `now` is the time from which `24h` counts. */
export function readInput(operation: CommandOperation, options: GivenOptions, now: number): Members {
  const input: Record<string, unknown> = {}
  for (const member of membersWithOption(operation)) {
    const value = valueOf(operation, member, { options, now })
    if (value !== undefined) input[member.name] = value
    else if (member.required)
      throw new UsageError([`--${optionName(member)} is missing: ${member.option?.words ?? ''}`, seeHelp(operation)])
  }
  if (operation.kind !== 'change') return input
  for (const member of membersWithOption(operation))
    for (const { name } of replacedBy(operation, member)) if (input[member.name]) input[name] ??= null
  if (Object.keys(input).length === 0) throw new UsageError(['no change was named', seeHelp(operation)])
  return input
}

function seeHelp({ subject, verb }: CommandOperation): string {
  return `See: grantor ${subject} ${verb} --help`
}

/** Undefined if the member was not given. */
function valueOf(operation: CommandOperation, member: Member, { options, now }: { options: GivenOptions; now: number }): unknown {
  const { nullable, shape } = member
  const name = optionName(member)
  if (shape.kind === 'flag') {
    const flag = oneOf([name, `no-${name}`], options)
    return flag === undefined ? undefined : flag === name
  }
  const off = operation.kind === 'change' ? offOption(member) : null
  const given = givenValue(options[name])
  if (given === undefined) return off !== null && options[off[0]] === true ? (nullable ? null : []) : undefined
  // `--no-keys --jwks-uri` removes the other kind of keys.
  if (off !== null && options[off[0]] === true && replacedBy(operation, member).length === 0) throw bothGiven(off[0], name)
  return parseGiven(name, member, given, now)
}

function givenValue(value: unknown): string | string[] | undefined {
  return Array.isArray(value) && value.length === 0 ? undefined : (value as string | string[] | undefined)
}

/** The only one of the flags that is given. */
export function oneOf(flags: readonly string[], options: GivenOptions): string | undefined {
  const [one, other] = flags.filter((flag) => options[flag] === true)
  if (one !== undefined && other !== undefined) throw bothGiven(one, other)
  return one
}

function bothGiven(one: string, other: string): UsageError {
  return new UsageError(`--${one} and --${other} are both given: keep one`)
}

function parseGiven(name: string, { shape }: Member, value: string | string[], now: number): unknown {
  if (Array.isArray(value)) return shape.kind === 'scopes' ? value.map(scopeFrom) : value
  switch (shape.kind) {
    case 'key_set':
      return readJwks(value)
    case 'picture': {
      const read = readPictureFile(value)
      if ('fault' in read) throw new UsageError(`--${name} ${read.fault}`)
      return read.uri
    }
    case 'wallet':
      return walletFrom(value)
    case 'integer':
      return integerFrom(name, value, shape)
    case 'time':
      return timeFrom(name, value, now)
    default:
      return value
  }
}

function scopeFrom(text: string): ResourceScope {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--scope must be NAME=DESCRIPTION, as in --scope "notes.read=read your notes", not "${text}"`)
  return { name: text.slice(0, at), ...readScopeWords(text.slice(at + 1)) }
}

function integerFrom(name: string, text: string, { minimum, maximum }: { minimum: number; maximum?: number }): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= minimum && value <= (maximum ?? value)) return value
  const range = maximum === undefined ? `from ${minimum} on` : `from ${minimum} to ${maximum}`
  throw new UsageError(`--${name} must be a whole number ${range}, not "${text}"`)
}

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/

function timeFrom(name: string, text: string, now: number): number {
  const ago = /^(\d{1,6})([mhd])$/.exec(text)
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] ?? ''] ?? 0)
  const at = DATE.test(text) ? Date.parse(text) / 1000 : Number.NaN
  if (!Number.isNaN(at)) return at
  throw new UsageError(`--${name} must be a time such as 2026-11-23, 2026-11-23T08:30Z, 90m, 24h or 7d, not "${text}"`)
}
