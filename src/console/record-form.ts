/** Forms for the members of an operation. */
import { type Member, type Members, textOf } from '../operations/members/member.ts'
import type { Operation } from '../operations/operation.ts'
import type { Choice, Field } from '../pages/console/form-page.ts'
import type { Fields } from './form.ts'

/** The members that a form of the operation has. */
export function formMembers({ input = [] }: Operation): Member[] {
  return input.filter(({ label, isSeparate }) => label !== undefined && !isSeparate)
}

/** The fields of a form with the present values, or with those that the operator entered. */
export function fieldsFor(members: readonly Member[], present: Members, entered: Fields | null): Field[] {
  return members.map((member) => fieldFor(member, entered ? enteredValue(member, entered) : present[member.name]))
}

function fieldFor(member: Member, value: unknown): Field {
  const { name, label = name, hint, isRare = false, shape } = member
  const common = { name, label, ...(hint !== undefined && { hint }), isRare }
  const choices = choicesOf(member)
  switch (shape.kind) {
    case 'flag':
      return { ...common, kind: 'flag', value: value === true }
    case 'texts':
      if (choices.length > 0) return { ...common, kind: 'choices', value: (value as string[] | null) ?? [], choices }
      return { ...common, kind: 'lines', value: ((value as string[] | null) ?? []).join('\n') }
    case 'scopes':
      return { ...common, kind: 'lines', value: scopeLines(value) }
    case 'key_set':
      return {
        ...common,
        kind: 'json',
        value: typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : textOf(value),
      }
    default:
      if (choices.length === 0) return { ...common, kind: 'text', value: textOf(value) }
      return {
        ...common,
        kind: 'choice',
        value: textOf(value),
        choices: textOf(value) === '' || member.nullable ? [{ value: '', label: 'default' }, ...choices] : choices,
      }
  }
}

function choicesOf({ shape, choices: words = {} }: Member): Choice[] {
  const values = 'choices' in shape && shape.choices ? shape.choices : Object.keys(words)
  return values.map((value) => ({ value, label: words[value] ?? value }))
}

function scopeLines(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value)
  return (value as { name: string; description: string }[]).map(({ name, description }) => `${name}: ${description}`).join('\n')
}

/** The members that the operator entered, with the empty ones. A choice that was not made is left out. */
export function enteredMembers(members: readonly Member[], fields: Fields): Members {
  const values = members.map((member) => [member.name, enteredValue(member, fields)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Without the optional members whose fields are empty. A new record then has their defaults. */
export function withoutEmpty(members: readonly Member[], entered: Members): Members {
  const isEmpty = (value: unknown): boolean =>
    value === '' || value === null || value === false || (Array.isArray(value) && value.length === 0)
  const given = members.filter(({ name, required }) => name in entered && (required || !isEmpty(entered[name])))
  return Object.fromEntries(given.map(({ name }) => [name, entered[name]]))
}

function enteredValue({ name, shape, nullable }: Member, fields: Fields): unknown {
  const text = fields.text(name)
  switch (shape.kind) {
    case 'flag':
      return text === 'yes' || text === 'true'
    case 'texts': {
      const values = shape.choices ? fields.all(name) : linesOf(text)
      return values.length === 0 && nullable ? null : values
    }
    case 'integer':
    case 'time':
      return /^\d{1,15}$/.test(text) ? Number(text) : text
    case 'scopes':
      return linesOf(text).map((line) => {
        const [scope = '', ...description] = line.split(':')
        return { name: scope.trim(), description: description.join(':').trim() }
      })
    case 'key_set':
      return text === '' ? null : parseOrKeep(text)
    default:
      if (text !== '') return text
      return nullable ? null : 'choices' in shape && shape.choices ? undefined : ''
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The JSON value. A text that is not JSON is returned unchanged: the check of the input refuses the text and names the member. */
function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The members for the question: the label and the value of each in one line. */
export function shownMembers(members: readonly Member[], given: Members): [string, string][] {
  return members.flatMap(({ name, label }) =>
    label !== undefined && Object.hasOwn(given, name) ? [[label, inOneLine(given[name])] as [string, string]] : [],
  )
}

function inOneLine(value: unknown): string {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map((each) => (typeof each === 'object' ? scopeLines([each]) : String(each))).join(' · ')
  return typeof value === 'object' ? JSON.stringify(value) : textOf(value)
}
