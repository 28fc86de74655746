import type { Members } from '../../operations/members/member.ts'
import type { Subject } from '../../operations/operation.ts'
import { html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { type Action, actionLink, nameIn } from './list-page.ts'
import { buttonLink, doneMessage, type Fact, facts, link, named, section, titleRow } from './parts.ts'
import { shownFact } from './shown.ts'

export type RecordView = {
  frame: Frame
  subject: Subject
  id: string
  record: Members
  /** the record as the API returns it */
  json: Members
  /** the main change of the record */
  change?: Action | undefined
  actions: Action[]
  /** the search of the audit trail for this record; absent if the operator may not read it, or if lines do not name such records */
  audit?: string | undefined
  done?: string | undefined
}

export function recordPage({ frame, subject, id, record, json, change, actions, audit, done }: RecordView): string {
  const { noun, displays = [] } = subject
  const title = nameIn(displays.find(({ isTitle }) => isTitle)?.shown(record) ?? id)
  const values = displays
    .filter(({ isOnlyColumn, isTitle }) => !isOnlyColumn && !isTitle)
    .map(({ label, shown }) => ({ label, value: shown(record) }))
  const list = values.filter(({ value }) => value !== null).map(({ label, value }): Fact => [label, shownFact(value)])
  return consoleLayout({
    title,
    frame,
    content: html`${titleRow(named(title, id), change !== undefined && buttonLink(change.path, change.label, 'main'))}
${doneMessage(done)}
${section(
  'Properties',
  html`${facts(list)}
${actions.length > 0 && html`<p class="page-actions">${actions.map(actionLink)}</p>`}
${audit !== undefined && html`<p class="fine">${link(audit, `What happened to this ${noun}`)}</p>`}`,
)}
${list.length < values.length && html`<details class="block"><summary>All settings, as in the API</summary><pre class="paper" tabindex="0" role="group" aria-label="All settings">${JSON.stringify(json, null, 2)}</pre></details>`}`,
  })
}
