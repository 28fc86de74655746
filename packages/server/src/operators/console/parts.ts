/** Pieces that the pages of the console share. */

import { type Fillable, type Html, html } from '../../pages/html.ts'
import { displayName } from '../../pages/words.ts'
import { visibleText } from '../../protocol/oauth/visible-text.ts'
import type { Shown } from '../members/member.ts'
import { number } from '../operations/words.ts'
import { fromNow } from './times.ts'

const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })

/** "20 Dec 2026, 14:03:21 UTC". Epoch seconds. */
export function moment(at: number): Html {
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${MOMENT.format(at * 1000)} UTC</time>`
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' })

/** "14:03 UTC". Epoch seconds. */
export function clock(at: number): Html {
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${CLOCK.format(at * 1000)} UTC</time>`
}

/** A value with a button that copies the value, if the browser runs scripts. `name`: what is copied, as in "the secret". */
export function withCopyButton(value: Html, name: string): Html {
  return html`<div class="copied" data-copy="${name}">${value}</div>`
}

/** A registered name has at most 80 characters, and an operator compares whole names. */
const LONGEST_NAME = 80

/** A name that an operator or a client chose, isolated from the text around it. */
export function nameOr(name: string, otherwise: string): Html {
  return html`<bdi>${displayName(name, LONGEST_NAME) || otherwise}</bdi>`
}

/** A value that may contain invisible characters, such as one from the audit trail. */
export function exact(value: string): Html {
  return html`<code>${visibleText(value) === value ? value : JSON.stringify(value)}</code>`
}

/** The same for a text in which invisible characters are unlikely. */
export function readableText(value: string): Fillable {
  return visibleText(value) === value ? value : exact(value)
}

export function titleRow(title: Html | string, actions: Html | false = false): Html {
  return html`<div class="title-row"><h1>${title}</h1>${actions && html`<p class="page-actions">${actions}</p>`}</div>`
}

/** A message about a change that was made. */
export function doneMessage(done: string | undefined): Html | false {
  return done !== undefined && html`<p class="message" role="status">${done}</p>`
}

/** `sort`: the address that sorts by the column, and how the list is sorted by it now. */
export type Column<Row> = {
  name: string
  cell: (row: Row) => Fillable
  kind?: 'number' | 'main'
  sort?: { path: string; now: 'ascending' | 'descending' | 'none' } | undefined
}

/** A table whose rows become cards on a narrow screen. */
export function table<Row>(caption: string, given: (Column<Row> | false)[], rows: Row[], empty: string): Html {
  if (rows.length === 0) return html`<p class="lead empty">${empty}</p>`
  const columns = given.filter((column) => column !== false)
  return html`<table>
<caption class="visually-hidden">${caption}</caption>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr>${columns.map(({ name, cell, kind }) => html`<td data-label="${name}"${kind && html` class="${kind}"`}><div>${cell(row)}</div></td>`)}</tr>
`,
  )}</tbody>
</table>`
}

function heading({ name, kind, sort }: Pick<Column<never>, 'name' | 'kind' | 'sort'>): Html {
  const attributes = html`${kind === 'number' && html` class="number"`}${sort && html` aria-sort="${sort.now}"`}`
  return html`<th scope="col"${attributes}>${sort ? link(sort.path, name) : name}</th>`
}

export type Fact = [name: string, value: Fillable]

export function facts(list: (Fact | false)[]): Html {
  return html`<dl class="console-facts">${list
    .filter((each) => each !== false)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

function lines(values: readonly string[], none = 'none'): Html {
  if (values.length === 0) return html`<span class="none">${none}</span>`
  return html`<ul class="plain">${values.map((value) => html`<li>${exact(value)}</li>`)}</ul>`
}

export function link(path: string, label: Fillable, id?: string): Html {
  return html`<a href="${path}"${id !== undefined && html` id="${id}"`}>${label}</a>`
}

export function buttonLink(path: string, label: string, kind: 'main' | 'quiet' | 'danger' = 'quiet'): Html {
  return html`<a class="button small${kind === 'main' ? '' : ' quiet'}${kind === 'danger' ? ' danger' : ''}" href="${path}">${label}</a>`
}

export function nextLink(path: string | null, label: string): Html | false {
  return path !== null && html`<p class="after"><a href="${path}" rel="next">${label}</a></p>`
}

export function tag(text: string, tone: 'good' | 'plain' | 'warn' = 'plain'): Html {
  return html`<span class="tag ${tone}">${text}</span>`
}

/** The sentences of a warning. */
export function warningList(sentences: readonly string[]): Html | false {
  return (
    sentences.length > 0 &&
    html`<ul class="plain warning">${sentences.map((sentence) => html`<li>${readableText(sentence)}</li>`)}</ul>`
  )
}

export function section(title: string, content: Html, id?: string): Html {
  return html`<section class="block"${id !== undefined && html` id="${id}"`}><h2>${title}</h2>${content}</section>`
}

/** What ends or stops something, apart from everything else and in words. */
export function dangerSection(acts: readonly { path: string; label: string; words: string }[]): Html | false {
  if (acts.length === 0) return false
  const act = ({ path, label, words }: (typeof acts)[number]): Html =>
    html`<li><div><h3>${label}</h3><p class="lead">${words}</p></div>${buttonLink(path, label, 'danger')}</li>`
  return html`<section class="block danger" id="danger"><h2>Danger zone</h2><ul class="acts">${acts.map(act)}</ul></section>`
}

/** A path below `/console`, with each part encoded. */
export function pathTo(...parts: string[]): string {
  return `/console/${parts.map(encodeURIComponent).join('/')}`
}

/** A value on a page with all facts of a record. */
export function shownFact(shown: Shown): Fillable {
  if (typeof shown === 'object' && shown !== null && 'time' in shown) return moment(shown.time)
  return shownCell(shown, 0)
}

/** A value in a table. A time is shown relative to now. */
export function shownCell(shown: Shown, now: number): Fillable {
  if (shown === null) return '–'
  if (typeof shown === 'string') return shown
  if (typeof shown === 'number') return number(shown)
  if ('exact' in shown) return exact(shown.exact)
  if ('lines' in shown) return lines(shown.lines, shown.none)
  if ('words' in shown) return lines(shown.words, shown.none)
  if ('time' in shown) return fromNow(shown.time, now)
  const { state, tone, since = null } = shown
  return html`${tag(state, tone)}${since !== null && html` since ${moment(since)}`}`
}
