/** Forms for the members of an operation. */
import { type Fault, wordsOf } from '../../domain/model/fault.ts'
import type { ResourceScope } from '../../domain/model/records.ts'
import { readScopeWords, writeScopeWords } from '../../domain/resources/scope-words.ts'
import { type Html, html } from '../../pages/html.ts'
import { type Member, type Members, textOf } from '../members/member.ts'
import type { Operation } from '../operations/operation.ts'
import type { ServiceSetting } from '../operations/service.ts'
import { utc } from '../operations/words.ts'
import type { FormFields } from './form.ts'

/** The members that a form of the operation has. */
export function formMembers({ input }: Operation): Member[] {
  return input.filter(({ label, given }) => label !== undefined && given !== 'separately')
}

type FormState = { faults: readonly Fault[]; settings: readonly ServiceSetting[] }

/** Names the present value of each setting: "GRANTOR_CODE_LIFETIME (now 60) unless given". */
function withValues(hint: string, settings: readonly ServiceSetting[]): string {
  return hint.replace(/GRANTOR_[A-Z_]+/g, (name) => {
    const value = settings.find((setting) => setting.name === name)?.value ?? null
    return value === null ? name : `${name} (now ${value})`
  })
}

/** The fields of a form. The rare ones are in a second part, which is open if one of them has a fault. */
export function fieldsOf(given: readonly Member[], values: Members, { faults, settings }: FormState): Html {
  const members = given.map((member) => ({ ...member, ...(member.hint && { hint: withValues(member.hint, settings) }) }))
  const faultsOf = ({ name }: Member): string[] => wordsOf(faults.filter(({ member }) => member === name))
  const field = (member: Member): Html => fieldOf(member, values[member.name], faultsOf(member))
  const rare = members.filter((member) => member.given === 'rarely')
  const isOpen = rare.some((member) => faultsOf(member).length > 0)
  return html`${members.filter((member) => member.given !== 'rarely').map(field)}
${rare.length > 0 && html`<details class="fold"${isOpen && html` open`}><summary>More settings</summary><div class="fields">${rare.map(field)}</div></details>`}`
}

function fieldOf(member: Member, value: unknown, faults: readonly string[]): Html {
  const { name, label = name, hint, shape } = member
  const id = `field-${name}`
  const notes = [hint !== undefined && `${id}-hint`, faults.length > 0 && `${id}-fault`].filter((note) => note !== false)
  const described = html`${notes.length > 0 && html` aria-describedby="${notes.join(' ')}"`}${faults.length > 0 && html` aria-invalid="true"`}`
  const note = html`${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}${faults.length > 0 && html`<div class="field-problem" id="${id}-fault">${faults.map((fault) => html`<p>${fault}</p>`)}</div>`}`
  const choices = choicesOf(member)
  if (shape.kind === 'flag')
    return html`<div class="field check"><label><input type="checkbox" name="${name}" value="yes" id="${id}"${described}${value === true && html` checked`}> <span>${label}</span></label>${note}</div>`
  if (shape.kind === 'texts' && choices.length > 0) {
    const chosen = (value as string[] | null) ?? []
    return html`<fieldset class="field" id="${id}" tabindex="-1"${notes.length > 0 && html` aria-describedby="${notes.join(' ')}"`}><legend>${label}</legend>${note}${member.usual !== undefined && html`<p class="hint">Unless chosen: ${member.usual}.</p>`}
${choices.map(([choice, words]) => html`<label class="check"><input type="checkbox" name="${name}" value="${choice}"${chosen.includes(choice) && html` checked`}> <span>${words}</span></label>`)}</fieldset>`
  }
  const text = fieldText(shape.kind, value)
  const head = html`<div class="field"><label for="${id}">${label}</label>${note}`
  if (choices.length > 0) {
    const offered = text === '' || member.nullable ? [['', usualOf(member)] as const, ...choices] : choices
    return html`${head}<select name="${name}" id="${id}"${described}>
${offered.map(([choice, words]) => html`<option value="${choice}"${text === choice && html` selected`}>${words}</option>`)}</select></div>`
  }
  if (shape.kind === 'picture')
    return html`${head}<input type="file" name="${name}" id="${id}" accept="image/png" required${described}></div>`
  if (['texts', 'scopes', 'key_set'].includes(shape.kind))
    return html`${head}<textarea name="${name}" id="${id}" rows="3" spellcheck="false" class="code"${described}>
${text}</textarea></div>`
  // The value of such a field has no zone. The label says that it is UTC.
  if (shape.kind === 'time')
    return html`${head}<input type="datetime-local" name="${name}" id="${id}" value="${text}" step="1"${described}></div>`
  return html`${head}<input type="text" name="${name}" id="${id}" value="${text}" autocomplete="off" spellcheck="false"${described}></div>`
}

/** The words of the empty choice: what applies then. */
function usualOf({ required, usual, preset, choices = {} }: Member): string {
  if (required) return 'choose one'
  const words = usual ?? (typeof preset === 'string' ? (choices[preset] ?? preset) : undefined)
  return words === undefined ? 'none' : `default (${words})`
}

function choicesOf({ shape, choices: words = {} }: Member): (readonly [value: string, words: string])[] {
  const values = 'choices' in shape && shape.choices ? shape.choices : Object.keys(words)
  return values.map((value) => [value, words[value] ?? value])
}

function fieldText(kind: Member['shape']['kind'], value: unknown): string {
  if (kind === 'time' && typeof value === 'number') return new Date(value * 1000).toISOString().slice(0, 19)
  if (kind === 'texts') return ((value as string[] | null) ?? []).join('\n')
  if (kind === 'scopes') return scopeLines(value)
  return kind === 'key_set' && typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : textOf(value)
}

function scopeLines(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value)
  return (value as ResourceScope[]).map((scope) => `${scope.name}: ${writeScopeWords(scope)}`).join('\n')
}

/** A form with a file is sent in another format (RFC 7578). */
export function hasFile(members: readonly Member[]): boolean {
  return members.some(({ shape }) => shape.kind === 'picture')
}

/** The members that the operator entered, with the empty ones. A choice that was not made is left out. */
export function enteredMembers(members: readonly Member[], fields: FormFields): Members {
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

function enteredValue(member: Member, fields: FormFields): unknown {
  const { name, shape, nullable } = member
  const text = fields.text(name)
  switch (shape.kind) {
    case 'flag':
      return text === 'yes' || text === 'true'
    case 'texts': {
      const values = choicesOf(member).length > 0 ? fields.all(name).filter((value) => value !== '') : inputLines(text)
      return values.length === 0 && nullable ? null : values
    }
    case 'time': {
      const at = text === '' ? Number.NaN : Date.parse(`${text}Z`)
      return Number.isNaN(at) ? text : Math.floor(at / 1000)
    }
    case 'integer':
      if (text === '' && nullable) return null
      return /^\d{1,15}$/.test(text) ? Number(text) : text
    case 'scopes':
      return inputLines(text).map((line) => {
        const [scope = '', ...description] = line.split(':')
        return { name: scope.trim(), ...readScopeWords(description.join(':')) }
      })
    case 'key_set':
      return text === '' ? null : parseOrKeep(text)
    default:
      if (text !== '') return text
      return nullable ? null : 'choices' in shape && shape.choices ? undefined : ''
  }
}

function inputLines(text: string): string[] {
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
  return members.flatMap(({ name, label, shape }) =>
    label !== undefined && shape.kind !== 'picture' && Object.hasOwn(given, name)
      ? [[label, shape.kind === 'time' ? utc(given[name] as number) : inOneLine(given[name])] as [string, string]]
      : [],
  )
}

function inOneLine(value: unknown): string {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map((each) => (typeof each === 'object' ? scopeLines([each]) : String(each))).join(' · ')
  return typeof value === 'object' ? JSON.stringify(value) : textOf(value)
}
