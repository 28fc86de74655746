/**
 * The members of records and of inputs, written once. The schemas of the API, the forms and pages of the console, the options and the output of
 * the command line, and the files of `apply` and `export` are derived from these tables.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Fault } from '../../domain/model/fault.ts'

export type Shape =
  | { kind: 'text'; choices?: readonly string[] }
  | { kind: 'texts'; choices?: readonly string[] }
  | { kind: 'flag' }
  | { kind: 'integer'; minimum: number; maximum?: number }
  /** the address of a wallet */
  | { kind: 'wallet' }
  /** epoch seconds */
  | { kind: 'time' }
  /** a JWK Set; `clientFaults` checks the keys */
  | { kind: 'key_set' }
  /** a picture: a data URI when it is given, its SHA-256 when it is returned */
  | { kind: 'picture' }
  /** a list of `{ name, description, limit }`; the limit may be absent */
  | { kind: 'scopes' }
  /** the limit of a scope */
  | { kind: 'limit' }

/** A value as people read it. A terminal prints it as text, and a page as HTML. */
export type Shown =
  | string
  /** a number that is aligned to the right */
  | number
  /** a value that may contain invisible characters */
  | { exact: string }
  /** one on each line */
  | { lines: readonly string[]; none?: string }
  /** in one line */
  | { words: readonly string[]; none?: string }
  /** epoch seconds */
  | { time: number }
  | { state: string; tone: 'good' | 'plain' | 'warn'; since?: number | null }
  /** nothing is printed */
  | null

export type Members = Readonly<Record<string, unknown>>

/** How the command line reads and changes a member. */
export type Option = {
  /** without the dashes; the name of the member unless given */
  name?: string
  /** the placeholder of the value in the help, such as URI */
  value?: string
  words: string
  /** the member is an operand, and has no option */
  isOperand?: true
  /** the option of an update that removes the value. Members whose values one option removes replace each other. */
  off?: { name?: string; words: string }
}

export type Member = {
  /** the name in JSON, in files and in the audit trail */
  name: string
  shape: Shape
  required?: true
  /** true if the value may be null */
  nullable?: true
  /**
   * The value of a missing member, if it does not depend on other members. Without it, null if the value may be null, and false for a flag.
   * The export leaves such a value out.
   */
  preset?: unknown
  /** the description in the API's document */
  words?: string
  /** in characters, of a text in a request */
  longest?: number
  /** in forms and on pages; a member without a label is on neither */
  label?: string
  hint?: string
  /** what applies if the value is not given, in the words of a form; the preset or the choice with this value unless given */
  usual?: string
  /** the words of each choice in a form */
  choices?: Readonly<Record<string, string>>
  /** `rarely`: on the second, closed part of a form. `separately`: by an operation of its own, not at the creation, and in no form. */
  given?: 'rarely' | 'separately'
  option?: Option
}

/** A member of a record: how it is stored and shown. */
export type RecordMember = Member & {
  label: string
  /** set when the record is created, and never changed */
  isFixed?: true
  /** the value of the member, if it is not the property of the record */
  read?: (property: unknown) => unknown
  /** true for the name of the record: the title of its page, and the link in lists */
  isTitle?: true
  /** the heading of its column in lists; without one, lists do not have the member */
  column?: string
  /** the section of its value on the page of the record; the first one unless given */
  part?: string
  /** its name in `show` on the command line; the label unless given */
  print?: string
  /** the value as people read it, if its shape does not say so; null for nothing */
  shown?: (value: unknown, record: Members) => Shown
}

/** From each property of a record to its member, so a property without a member does not compile. */
export type RecordMembers<Key extends string = string> = Readonly<Record<Key, RecordMember>>

type MemberDetails = Omit<RecordMember, 'name' | 'shape' | 'label'>
type MemberValues = { values?: readonly string[] }

/** A text. `values`: the only possible ones. */
export function text(name: string, label: string, { values, ...details }: MemberDetails & MemberValues): RecordMember {
  return { name, label, shape: { kind: 'text', ...(values && { choices: values }) }, ...details }
}

/** A list of texts. `values`: the only possible ones. */
export function texts(name: string, label: string, { values, ...details }: MemberDetails & MemberValues): RecordMember {
  return { name, label, shape: { kind: 'texts', ...(values && { choices: values }) }, ...details }
}

export function flag(name: string, label: string, details: MemberDetails): RecordMember {
  return { name, label, shape: { kind: 'flag' }, ...details }
}

/** A whole number. */
export function integer(
  name: string,
  label: string,
  { minimum, maximum, ...details }: MemberDetails & { minimum: number; maximum?: number },
): RecordMember {
  return { name, label, shape: { kind: 'integer', minimum, ...(maximum !== undefined && { maximum }) }, ...details }
}

/** A record as JSON, with the names of the members. */
export function membersOf(table: RecordMembers, record: object): Members {
  const properties = record as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(table).map(([key, { name, read }]) => [name, read ? read(properties[key]) : properties[key]]),
  )
}

/** The values under the names of the record's properties. */
export function byKey(table: RecordMembers, members: Members): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([key, { name }]) => (Object.hasOwn(members, name) ? [[key, members[name]]] : [])),
  )
}

/** The faults of a record, with the names of its members. */
export function namedFaults(table: RecordMembers, faults: readonly Fault[]): Fault[] {
  return faults.map(({ member, words }) => ({ member: member === null ? null : (table[member]?.name ?? null), words }))
}

/** The members that a caller gives to create a record. */
export function givenAtCreation(table: RecordMembers): readonly RecordMember[] {
  return Object.values(table).filter(({ given }) => given !== 'separately')
}

/** The members that a caller gives to change a record, all of them optional. The operand is the id of the record. */
export function givenAtChange(table: RecordMembers): readonly RecordMember[] {
  return Object.values(table).flatMap(({ required: _required, option, ...member }) => {
    const { isOperand: _isOperand, ...named } = option ?? { words: '' }
    return member.isFixed ? [] : [option ? { ...member, option: named } : member]
  })
}

/** The members without those that have the value of a missing member. */
export function withoutPresets(table: RecordMembers, members: Members): Members {
  return Object.fromEntries(
    Object.values(table).flatMap((member) => {
      const [preset, value] = [presetOf(member), members[member.name]]
      return preset !== undefined && isDeepStrictEqual(preset, value) ? [] : [[member.name, value]]
    }),
  )
}

function presetOf({ preset, nullable, shape }: Member): unknown {
  return preset ?? (nullable ? null : shape.kind === 'flag' ? false : undefined)
}

/** A value in one line. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export type MemberChange = { name: string; before: unknown; after: unknown }

/** The order counts in a list, and does not count in an object. */
export function changesBetween(before: Members, after: Members): MemberChange[] {
  return Object.keys(after)
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => ({ name, before: before[name], after: after[name] }))
}

/** The members in which two records differ. */
export function differences(table: RecordMembers, before: object, after: object): MemberChange[] {
  return changesBetween(membersOf(table, before), membersOf(table, after))
}

/** The names of the changed members, for the audit trail. */
export function changedNames(changes: readonly MemberChange[]): { changed: string } {
  return { changed: changes.map(({ name }) => name).join(' ') }
}
