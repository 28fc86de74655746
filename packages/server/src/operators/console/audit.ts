/** The page of the audit trail. */

import { recordedEvents } from '../../domain/model/audit-events.ts'
import type { Fault } from '../../domain/model/fault.ts'
import { endReasons } from '../../domain/model/records.ts'
import { CONSOLE_CLIENT_ID } from '../../domain/operators/console-client.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { type Html, html } from '../../pages/html.ts'
import { type AuditLineRecord, searchAudit } from '../operations/audit.ts'
import { Refusal } from '../operations/refusal.ts'
import { formatCount } from '../operations/words.ts'
import { chips, type ListMember, type ListView, toolbar, viewOfList } from './list-view.ts'
import { exact, type Fact, facts, link, moment, nextLink, pathTo, titleRow } from './parts.ts'
import { addPage, type Console, queryOf, readList, type Visit } from './visit.ts'

/** The fields of the form. A text with proposals also takes others: a trail has lines of operators who were removed. */
const FIELDS: Readonly<Record<string, Partial<ListMember>>> = {
  wallet: { label: 'Wallet', hint: '0x…', longest: 100 },
  event: { label: 'Event', shape: { kind: 'text', choices: recordedEvents.toSorted() } },
  result: { label: 'Result' },
  client_id: { label: 'Client', hint: 'client id', given: 'rarely' },
  grant_id: { label: 'Grant', hint: 'grant id', given: 'rarely' },
  operator: { label: 'Operator', hint: '0x…, id or cli:NAME', given: 'rarely' },
  reason: { label: 'Reason', hint: 'code_replayed', given: 'rarely', proposals: Object.keys(endReasons).sort() },
  since: { label: 'Since, UTC', given: 'rarely' },
  until: { label: 'Before, UTC', given: 'rarely' },
}

export function auditPages(console: Console): void {
  addPage(console, '/console/audit', async (visit) => {
    const operators = (await readOperators(console.admin.store)).map(({ id }) => id)
    const input = searchAudit.input.map(
      (member): ListMember => ({
        ...member,
        ...FIELDS[member.name],
        ...(member.name === 'operator' && { proposals: operators }),
      }),
    )
    const view = viewOfList(visit, { input: input.toSorted((a, b) => placeOf(a) - placeOf(b)) }, '/console/audit')
    const found = await searchTrail(console, visit, view)
    // A script that follows the form leaves the lines as they are, for example while an address is incomplete.
    if ('fault' in found) visit.reply.code(422)
    const filter = view.given.input as Record<string, string | number>
    return {
      title: 'Audit',
      content: html`${titleRow('Audit trail')}
${toolbar(view, 'fault' in found ? found.fault : undefined)}
<p class="visually-hidden" id="count" role="status">${'lines' in found && `${formatCount(found.lines.length, 'line')} on this page`}</p>
<div id="results">
${chips(view)}
${'lines' in found && trail(found.lines)}
${'lines' in found && nextLink(found.next === null ? null : `/console/audit${queryOf({ ...view.entered, after: found.next })}`, 'Older lines')}
<p class="fine">Export everything with its hashes: <code>grantor audit export</code>. This search in the API: <code>GET /v1/audit${queryOf(filter)}</code></p>
</div>`,
    }
  })
}

const placeOf = ({ name }: ListMember): number => Object.keys(FIELDS).indexOf(name)

type FoundLines = { lines: AuditLineRecord[]; next: string | null } | { fault: string }

/** A faulty search is repeated in the form, so that the operator can correct it. */
async function searchTrail(console: Console, visit: Visit, { given }: ListView): Promise<FoundLines> {
  try {
    const { items, next } = await readList(console, visit, searchAudit, given)
    return { lines: items, next }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'invalid_request') throw error
    return { fault: error.faults.map(inWords).join(' ') }
  }
}

/** The fault of a field as an operator reads it, without the pattern of the API. */
function inWords({ member, words }: Fault): string {
  return member === 'wallet' ? 'Wallet is not an address: 0x and 40 hexadecimal digits with the right checksum (EIP-55).' : words
}

function trail(lines: AuditLineRecord[]): Html {
  if (lines.length === 0) return html`<p class="lead empty">No line matches.</p>`
  return html`<ol class="trail" reversed>${lines.map(lineItem)}</ol>`
}

const SUMMARY = new Set(['seq', 'at', 'event', 'result'])
const LINKS: Readonly<Record<string, (value: string) => string>> = {
  client_id: (id) => pathTo('clients', id),
  grant_id: (id) => pathTo('grants', id),
}

function lineItem(line: AuditLineRecord & { [member: string]: unknown }): Html {
  const who = line.operator ?? line.wallet ?? line.client_id
  return html`<li><details><summary><span class="when">${moment(line.at)}</span> <span class="event"><code>${line.event}</code>${line.result === 'refused' && html` <span class="tag warn">refused</span>`}${typeof line.reason === 'string' && html` <code class="reason">${line.reason}</code>`}</span> <span class="by">${typeof who === 'string' && exact(who)}</span></summary>
${facts([['seq', String(line.seq)], ['result', line.result], ...Object.entries(line).flatMap(([name, value]) => factOf(name, value))])}
</details></li>`
}

function factOf(name: string, value: unknown): Fact[] {
  if (SUMMARY.has(name) || value === undefined || value === null) return []
  if (typeof value === 'object')
    return Object.entries(value).map(([inner, text]) => [`${name}.${inner}`, exact(String(text))] as Fact)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const to = LINKS[name]
  // This client is in lines of sign-ins, and in no list of clients.
  if (text === CONSOLE_CLIENT_ID) return [[name, html`${exact(text)} this console`]]
  return [[name, to && text.length < 200 ? link(to(text), exact(text)) : exact(text)]]
}
