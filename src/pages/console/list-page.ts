import { type Members, type Shown, textOf } from '../../operations/members/member.ts'
import type { Display, Subject } from '../../operations/operation.ts'
import { type Html, html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { buttonLink, doneMessage, exact, link, named, nextLink, pathTo, table, titleRow } from './parts.ts'
import { shownCell } from './shown.ts'

/** A link to an operation. */
export type Action = { path: string; label: string; isDangerous?: boolean }

/** A record of the list. `aside`: what else is known of its id. */
export type Row = { id: string; record: Members; aside: Html | false; actions: Action[] }

export type ListView = {
  frame: Frame
  subject: Subject
  rows: Row[]
  /** true if each record has a page of its own */
  hasPages: boolean
  /** the operation that makes a new record */
  add?: Action | undefined
  /** the label of the search, and its text; absent if the list has no search */
  search?: { label: string; text: string } | undefined
  next: string | null
  done?: string | undefined
  now: number
}

export function listPage({ frame, subject, rows, hasPages, add, search, next, done, now }: ListView): string {
  const { name, page, displays = [] } = subject
  const title = page?.title ?? name
  const columns = displays.filter(({ column }) => column !== undefined)
  const sorted = [...columns.filter(({ isTitle }) => isTitle), ...columns.filter(({ isTitle }) => !isTitle)]
  const hasActions = rows.some(({ actions }) => actions.length > 0)
  return consoleLayout({
    title,
    frame,
    content: html`${titleRow(title, add !== undefined && buttonLink(add.path, add.label, 'main'))}
${doneMessage(done)}
${page?.lead !== undefined && html`<p class="lead">${page.lead}</p>`}
${search && searchForm(name, search)}
${table(
  title,
  [
    ...sorted.map((display, index) => ({
      name: display.label,
      cell: (row: Row) => (index === 0 ? mainCell(subject, row, display, hasPages) : shownCell(display.shown(row.record), now)),
      ...(index === 0 && { kind: 'main' as const }),
    })),
    ...(hasActions
      ? [{ name: 'Change', cell: (row: Row) => html`<span class="page-actions">${row.actions.map(actionLink)}</span>` }]
      : []),
  ],
  rows,
  emptyWords(subject, search?.text ?? '', next),
)}
${nextLink(next, search === undefined || search.text === '' ? 'Next page' : 'Search further')}
${page?.readOnly !== undefined && !add && html`<p class="fine">${page.readOnly}</p>`}`,
  })
}

function mainCell({ name }: Subject, { id, record, aside }: Row, { isTitle, shown }: Display, hasPages: boolean): Html {
  const words = isTitle ? named(nameIn(shown(record)), 'without a name') : exact(id)
  return html`${aside}${hasPages ? link(pathTo(name, id), words) : words}`
}

/** The text of a name. */
export function nameIn(shown: Shown): string {
  return typeof shown === 'object' && shown !== null && 'exact' in shown ? shown.exact : textOf(shown)
}

function searchForm(name: string, { label, text }: { label: string; text: string }): Html {
  return html`<form method="get" action="/console/${name}" class="search" role="search">
<label for="search">${label}</label>
<input type="search" id="search" name="search" value="${text}" maxlength="100" autocomplete="off">
<button class="button quiet small">Search</button>
</form>`
}

function emptyWords({ noun, empty }: Subject, text: string, next: string | null): string {
  if (text === '') return empty?.page ?? 'There is nothing here.'
  return `No ${noun} ${next === null ? '' : 'on this page '}has this text.`
}

export function actionLink({ path, label, isDangerous }: Action): Html {
  return html`${buttonLink(path, label, isDangerous ? 'danger' : 'quiet')} `
}
