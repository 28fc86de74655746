/** What the pages of lists share: the form that searches and filters, the count, sorted columns, and links to the pages beside this one. */

import { type Html, html } from '../../pages/html.ts'
import type { Member } from '../members/member.ts'
import type { Operation, Total } from '../operations/operation.ts'
import { number } from '../operations/words.ts'
import type { ConsolePage } from './layout.ts'
import { type Column, doneMessage, titleRow } from './parts.ts'
import { queryOf, type Visit, type VisitCall } from './visit.ts'

export type ListView = {
  place: string
  members: readonly Member[]
  /** what the address of the page has of these members */
  entered: Readonly<Record<string, string>>
  given: VisitCall
  /** how the list is sorted; empty for a list with one order */
  sorted: { sort?: string; order?: string }
  isFiltered: boolean
}

const NEWEST_FIRST = { sort: 'created_at', order: 'descending' } as const

/** The input of the list from the query of the page. A list that can be sorted by time has the newest records first. */
export function viewOfList({ query }: Visit, { input: members }: Pick<Operation, 'input'>, place: string): ListView {
  const texts = members.map(({ name, longest = 500 }) => [name, query.text(name).slice(0, longest)] as const)
  const entered = Object.fromEntries(texts.filter(([, text]) => text !== ''))
  const values = members.flatMap(({ name, shape }) => {
    const value = valueOf(shape, entered[name] ?? '')
    return value === undefined ? [] : [[name, value] as const]
  })
  const { sort, order } = entered
  const sorted =
    sort === undefined && sortsOf(members).includes(NEWEST_FIRST.sort)
      ? NEWEST_FIRST
      : { ...(sort && { sort }), ...(order && { order }) }
  return {
    place,
    members,
    entered,
    given: { input: { ...Object.fromEntries(values), ...sorted }, after: query.text('after'), before: query.text('before') },
    sorted,
    isFiltered: filtersOf({ members, entered }).length > 0,
  }
}

function sortsOf(members: readonly Member[]): readonly string[] {
  const sorts = members.find(({ name }) => name === 'sort')?.shape
  return (sorts && 'choices' in sorts && sorts.choices) || []
}

/** The value of a `datetime-local` field is a time in UTC. */
function valueOf({ kind }: Member['shape'], text: string): unknown {
  if (text === '') return undefined
  if (kind === 'flag') return text === 'true'
  if (kind !== 'time') return text
  const at = Date.parse(`${text}Z`)
  return Number.isNaN(at) || at < 0 ? undefined : Math.floor(at / 1000)
}

/** A form that also works without script. With script, the list is updated while the operator types. */
export function toolbar({ place, members, entered }: ListView, fault?: string): Html | false {
  const shown = members.filter(({ label }) => label !== undefined)
  if (shown.length === 0) return false
  const kept = members.filter(({ name, label }) => label === undefined && entered[name] !== undefined)
  const rare = shown.filter(({ given }) => given === 'rarely')
  const [first, ...others] = shown.filter((member) => !rare.includes(member))
  const field = (member: Member): Html => fieldOf(member, entered[member.name] ?? '')
  const button = html`<button class="button quiet small">Search</button>`
  // On a narrow screen the other filters are in a popover.
  const more = html`<button type="button" class="button quiet small opens" popovertarget="filters">Filters</button>
<div id="filters" popover>${others.map(field)}
${rare.length > 0 && html`<details${rare.some(({ name }) => entered[name] !== undefined) && html` open`}><summary>More filters</summary><div>${rare.map(field)}</div></details>`}
${button}</div>`
  return html`<form method="get" action="${place}" class="toolbar" role="search" aria-label="Search" data-live>
${kept.map(({ name }) => html`<input type="hidden" name="${name}" value="${entered[name]}">`)}
${first && field(first)}
${others.length + rare.length > 0 ? more : button}
${fault !== undefined && html`<p class="field-problem" role="alert">${fault}</p>`}
</form>`
}

/** Also shows a choice that is not offered, because the address of the page may have such a choice. */
function fieldOf(
  { name, label = name, shape, longest = 500, choices: words = {}, hint, usual = 'all', proposals }: ListMember,
  text: string,
): Html {
  const head = html`<label for="${name}">${label}</label>`
  const values = 'choices' in shape && shape.choices ? shape.choices : Object.keys(words)
  const offered = text === '' || values.includes(text) ? values : [...values, text]
  if (values.length > 0)
    return html`<div class="pill">${head}<select id="${name}" name="${name}"><option value="">${usual}</option>${offered.map((value) => html`<option value="${value}"${value === text && html` selected`}>${words[value] ?? value}</option>`)}</select></div>`
  if (shape.kind === 'time')
    return html`<div class="pill">${head}<input type="datetime-local" id="${name}" name="${name}" value="${text}" step="1"></div>`
  const type = name === 'search' ? 'search' : 'text'
  const list =
    proposals && html`<datalist id="${name}-list">${proposals.map((value) => html`<option value="${value}">`)}</datalist>`
  return html`<div class="pill ${type}">${head}<input type="${type}" id="${name}" name="${name}" value="${text}" maxlength="${longest}" placeholder="${name === 'search' ? label : hint}" autocomplete="off" spellcheck="false"${proposals && html` list="${name}-list"`}>${list}</div>`
}

/** `proposals`: values that a text of a filter often has. */
export type ListMember = Member & { proposals?: readonly string[] }

function filtersOf({ members, entered }: Pick<ListView, 'members' | 'entered'>): Member[] {
  return members.filter(
    ({ name, label }) => entered[name] !== undefined && (label !== undefined || !['sort', 'order'].includes(name)),
  )
}

/** The filters that are set. A link removes each. */
export function chips({ place, members, entered, sorted }: ListView): Html | false {
  const filters = filtersOf({ members, entered })
  if (filters.length === 0) return false
  const without = (name: string): string => `${place}${queryOf({ ...entered, [name]: undefined })}`
  const chip = ({ name, label = name, choices = {} }: Member): Html => {
    const text = entered[name] ?? ''
    const words = name === 'search' ? 'Search' : label
    return html`<li><a class="chip" href="${without(name)}"><span class="visually-hidden">Remove the filter </span>${words}: <bdi>${choices[text] ?? text}</bdi> <span aria-hidden="true">×</span></a></li>`
  }
  const order = sorted === NEWEST_FIRST ? {} : sorted
  return html`<ul class="chips" aria-label="Filters">${filters.map(chip)}${filters.length > 1 && html`<li><a href="${place}${queryOf(order)}">Clear all</a></li>`}</ul>`
}

/** "1,204 clients", "more than 10,000 sessions". */
export function countWordsOf({ number: count, kind }: Total, noun: string): string {
  return `${kind === 'at_least' ? 'More than ' : ''}${number(count)} ${noun}${count === 1 ? '' : 's'}`
}

type ListParts = Cursors & {
  title: string
  actions?: Html | false
  done?: string | undefined
  lead: string
  /** how many records there are, in words */
  count: string
  table: Html
}

/** A page with a list. */
export function listPage(
  view: ListView,
  { title, actions = false, done, lead, count, table, ...cursors }: ListParts,
): ConsolePage {
  return {
    title,
    content: html`${titleRow(title, actions)}
${doneMessage(done)}
<p class="lead">${lead}</p>
${toolbar(view)}
<p class="fine" id="count" role="status">${count}</p>
<div id="results">
${chips(view)}
${table}
${pageLinks(view, cursors)}
</div>`,
  }
}

/** Undefined if the list cannot be sorted by the member. A second click on a column reverses the order. Times begin with the latest. */
export function sortOf({ place, members, entered, sorted }: ListView, name: string | undefined): Column<never>['sort'] {
  const choices = sortsOf(members)
  if (name === undefined || !choices.includes(name)) return undefined
  const isDescending = sorted.order === 'descending'
  const now = (sorted.sort ?? choices[0]) !== name ? 'none' : isDescending ? 'descending' : 'ascending'
  const isNext = now === 'none' ? name.endsWith('_at') : !isDescending
  return { path: `${place}${queryOf({ ...entered, sort: name, order: isNext ? 'descending' : 'ascending' })}`, now }
}

/** The same for a list that is sorted by one time only. */
export function timeSortOf({ place, entered }: ListView): NonNullable<Column<never>['sort']> {
  const isOldest = entered.order === 'oldest'
  return {
    path: `${place}${queryOf({ ...entered, order: isOldest ? undefined : 'oldest' })}`,
    now: isOldest ? 'ascending' : 'descending',
  }
}

type Cursors = { next: string | null; previous: string | null }

function pageLinks({ place, entered }: ListView, { next, previous }: Cursors): Html | false {
  const to = (cursor: Record<string, string>): string => `${place}${queryOf({ ...entered, ...cursor })}`
  if (next === null && previous === null) return false
  return html`<nav class="pages" aria-label="Pages"><p>${previous !== null && html`<a href="${to({ before: previous })}" rel="prev">Previous page</a>`}</p>
<p>${next !== null && html`<a href="${to({ after: next })}" rel="next">Next page</a>`}</p></nav>`
}
