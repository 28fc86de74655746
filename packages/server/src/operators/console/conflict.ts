/** The page of a change that was refused because the record was changed meanwhile: who changed it, and both values side by side. */

import { html } from '../../pages/html.ts'
import { changesBetween, type Member, type Members } from '../members/member.ts'
import { searchAudit } from '../operations/audit.ts'
import type { Subject } from '../operations/operation.ts'
import type { ConsolePage } from './layout.ts'
import { exact, readableText, table } from './parts.ts'
import { shownMembers } from './record-form.ts'
import { fromNow } from './times.ts'
import type { Visit } from './visit.ts'

/** Lines of the trail among which the last change of the record is. */
const LINES_READ = 50

type Conflict = {
  subject: Subject
  id: string
  members: readonly Member[]
  present: Members
  entered: Members
  /** the addresses of the form with what was entered, and of the record */
  again: string
  home: string
}

export async function conflictPage(
  visit: Visit,
  { subject, id, members, present, entered, again, home }: Conflict,
): Promise<ConsolePage> {
  const names = changesBetween(present, entered).map(({ name }) => name)
  const differing = members.filter(({ name }) => names.includes(name))
  const textIn = (values: Members, { label }: Member): string => new Map(shownMembers(members, values)).get(label ?? '') ?? ''
  const rows = differing.map((member) => ({ member, now: textIn(present, member), given: textIn(entered, member) }))
  const last = visit.may('admin.audit') ? await lastChange(visit, subject, id) : undefined
  return {
    title: 'It was changed meanwhile',
    content: html`<div class="narrow"><article class="card" data-problem="changed_meanwhile">
<h1>It was changed meanwhile</h1>
${last && html`<p class="lead" id="who">${exact(last.operator)} changed this ${subject.noun} ${fromNow(last.at, visit.now)}${last.changed && html`: ${exact(last.changed)}`}.</p>`}
<p class="lead">Nothing was changed by you.</p>
${table(
  'What differs',
  [
    { name: 'Setting', cell: ({ member: { label } }) => label ?? '', kind: 'main' },
    { name: 'Now', cell: ({ now }) => readableText(now) },
    { name: 'You entered', cell: ({ given }) => readableText(given) },
  ],
  rows,
  `The ${subject.noun} has the values that you entered.`,
)}
<p class="actions"><a class="button" id="again" href="${again}">Open the form again</a> <a class="button quiet" href="${home}">Keep what it is now</a></p>
</article></div>`,
  }
}

/** Who changed the record last, and the names of the members; undefined if the last lines of the trail do not have it. */
async function lastChange({ run }: Visit, { noun, idName }: Subject, id: string) {
  const input = searchAudit.input.some(({ name }) => name === idName) ? { [idName]: id } : { event: `${noun}_changed` }
  const { items } = (await run(searchAudit, { input, limit: LINES_READ })).output
  for (const line of items as readonly Members[]) {
    const details = (line.details ?? {}) as Members
    const isOfRecord = [...Object.values(line), ...Object.values(details)].includes(id)
    if (isOfRecord && typeof line.operator === 'string')
      return {
        operator: line.operator,
        at: line.at as number,
        changed: typeof details.changed === 'string' ? details.changed : '',
      }
  }
  return undefined
}
