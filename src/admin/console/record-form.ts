/** Forms for records that a table of members describes: clients and resources. */
import { changesBetween, type Member, type MemberTable } from '../../domain/configuration/members.ts'
import type { Field } from '../../pages/console/form-page.ts'
import type { Fields } from './form.ts'

export type Wording = { label: string; hint?: string; choices?: Readonly<Record<string, string>>; isCommon?: true }
export type Wordings = Readonly<Record<string, Wording>>
type Members = Readonly<Record<string, unknown>>

/** The fields of a form with the present values, or with those that the operator entered. */
export function fieldsFor(
  table: MemberTable,
  wordings: Wordings,
  { present, entered }: { present: Members; entered: Fields | null },
): Field[] {
  return Object.entries(wordings).flatMap(([name, wording]) => {
    const member = table[name]
    return member ? [fieldFor({ name, member, wording }, entered ? enteredValue(name, member, entered) : present[name])] : []
  })
}

type Named = { name: string; member: Member; wording: Wording }

function fieldFor({ name, member, wording }: Named, value: unknown): Field {
  const { label, hint, choices: words = {}, isCommon } = wording
  const common = { name, label, ...(hint !== undefined && { hint }), isRare: isCommon !== true }
  const { shape } = member
  const choices = 'choices' in shape ? (shape.choices ?? []).map((each) => ({ value: each, label: words[each] ?? each })) : []
  switch (shape.kind) {
    case 'flag':
      return { ...common, kind: 'flag', value: value === true }
    case 'text':
      if (choices.length === 0) return { ...common, kind: 'text', value: textOf(value) }
      return { ...common, kind: 'choice', value: textOf(value), choices: [{ value: '', label: 'default' }, ...choices] }
    case 'texts':
      if (choices.length > 0) return { ...common, kind: 'choices', value: (value as string[] | null) ?? [], choices }
      return { ...common, kind: 'lines', value: ((value as string[] | null) ?? []).join('\n') }
    case 'scopes':
      return { ...common, kind: 'lines', value: scopeLines(value) }
    default:
      return {
        ...common,
        kind: 'json',
        value: typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : textOf(value),
      }
  }
}

function scopeLines(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value)
  return (value as { name: string; description: string }[]).map(({ name, description }) => `${name}: ${description}`).join('\n')
}

/** The members that the operator entered, with the empty ones. */
export function enteredMembers(table: MemberTable, wordings: Wordings, fields: Fields): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(wordings).flatMap((name) => {
      const member = table[name]
      return member ? [[name, enteredValue(name, member, fields)]] : []
    }),
  )
}

/** The entered members that differ from the present record. */
export function enteredChanges(
  table: MemberTable,
  wordings: Wordings,
  { present, entered }: { present: Members; entered: Fields },
): Record<string, unknown> {
  const changes = changesBetween(present, enteredMembers(table, wordings, entered))
  return Object.fromEntries(changes.map(({ name, after }) => [name, after]))
}

/** Without the members whose fields are empty. A new record then has their defaults. */
export function withoutEmpty(members: Members): Members {
  const isEmpty = (value: unknown): boolean =>
    value === '' || value === null || value === false || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmpty(value)))
}

function enteredValue(name: string, { shape, nullable }: Member, fields: Fields): unknown {
  const text = fields.text(name)
  switch (shape.kind) {
    case 'flag':
      return text === 'yes'
    case 'text':
      return text === '' && nullable ? null : text
    case 'texts': {
      const values = shape.choices ? fields.all(name) : linesOf(text)
      return values.length === 0 && nullable ? null : values
    }
    case 'scopes':
      return linesOf(text).map((line) => {
        const [scope = '', ...description] = line.split(':')
        return { name: scope.trim(), description: description.join(':').trim() }
      })
    default:
      return text === '' ? null : parseOrKeep(text)
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The JSON value. A text that is not JSON is returned unchanged: the API refuses the text and names the member. */
function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The members for the question: the label and the value of each in one line. */
export function shownMembers(wordings: Wordings, members: Members): [string, string][] {
  return Object.entries(members).map(([name, value]) => [wordings[name]?.label ?? name, inOneLine(value)])
}

function inOneLine(value: unknown): string {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map((each) => (typeof each === 'object' ? scopeLines([each]) : String(each))).join(' · ')
  return typeof value === 'object' ? JSON.stringify(value) : textOf(value)
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
