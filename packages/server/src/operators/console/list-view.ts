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
  isFiltered: boolean
}

/** The input of the list from the query of the page. */
export function viewOfList({ query }: Visit, { input: members }: Pick<Operation, 'input'>, place: string): ListView {
  const texts = members.map(({ name, longest = 500 }) => [name, query.text(name).slice(0, longest)] as const)
  const entered = Object.fromEntries(texts.filter(([, text]) => text !== ''))
  const flags = members.filter(({ shape }) => shape.kind === 'flag').map(({ name }) => name)
  const input = Object.entries(entered).map(([name, text]) => [name, flags.includes(name) ? text === 'true' : text] as const)
  return {
    place,
    members,
    entered,
    given: { input: Object.fromEntries(input), after: query.text('after'), before: query.text('before') },
    isFiltered: Object.keys(entered).some((name) => !['sort', 'order'].includes(name)),
  }
}

/** A form that also works without script. With script, the list is updated while the operator types. */
function listForm({ place, members, entered }: ListView): Html | false {
  const shown = members.filter(({ label }) => label !== undefined)
  if (shown.length === 0) return false
  const kept = members.filter(({ name, label }) => label === undefined && entered[name] !== undefined)
  return html`<form method="get" action="${place}" class="filter" role="search" aria-label="Search" data-live>
${kept.map(({ name }) => html`<input type="hidden" name="${name}" value="${entered[name]}">`)}
${shown.map((member) => html`<div>${fieldOf(member, entered[member.name] ?? '')}</div>`)}
<p class="page-actions"><button class="button quiet small">Search</button>${Object.keys(entered).length > 0 && html` <a href="${place}">Clear</a>`}</p>
</form>`
}

function fieldOf(
  { name, label = name, shape, longest = 500, choices: words = {}, hint, usual = 'all' }: Member,
  text: string,
): Html {
  const head = html`<label for="${name}">${label}</label>`
  const values = 'choices' in shape && shape.choices ? shape.choices : Object.keys(words)
  if (values.length > 0)
    return html`${head}<select id="${name}" name="${name}"><option value="">${usual}</option>${values.map((value) => html`<option value="${value}"${value === text && html` selected`}>${words[value] ?? value}</option>`)}</select>`
  return html`${head}<input type="${name === 'search' ? 'search' : 'text'}" id="${name}" name="${name}" value="${text}" maxlength="${longest}" placeholder="${hint}" autocomplete="off" spellcheck="false">`
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
${listForm(view)}
<p class="fine" id="count" role="status">${count}</p>
<div id="results">
${table}
${pageLinks(view, cursors)}
</div>`,
  }
}

/** Undefined if the list cannot be sorted by the member. The second click on a column turns its order around. */
export function sortOf({ place, members, entered }: ListView, name: string | undefined): Column<never>['sort'] {
  const sorts = members.find((member) => member.name === 'sort')?.shape
  const choices = sorts && 'choices' in sorts ? (sorts.choices ?? []) : []
  if (name === undefined || !choices.includes(name)) return undefined
  const isNow = (entered.sort ?? choices[0]) === name
  const now = isNow ? (entered.order === 'descending' ? 'descending' : 'ascending') : 'none'
  const order = now === 'ascending' ? 'descending' : 'ascending'
  return { path: `${place}${queryOf({ ...entered, sort: name, order })}`, now }
}

type Cursors = { next: string | null; previous: string | null }

function pageLinks({ place, entered }: ListView, { next, previous }: Cursors): Html | false {
  const to = (cursor: Record<string, string>): string => `${place}${queryOf({ ...entered, ...cursor })}`
  if (next === null && previous === null) return false
  return html`<nav class="pages" aria-label="Pages"><p>${previous !== null && html`<a href="${to({ before: previous })}" rel="prev">Previous page</a>`}</p>
<p>${next !== null && html`<a href="${to({ after: next })}" rel="next">Next page</a>`}</p></nav>`
}
