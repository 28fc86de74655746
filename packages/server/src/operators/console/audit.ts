/** The page of the audit trail. */

import { recordedEvents } from '../../domain/model/audit-events.ts'
import type { Fault } from '../../domain/model/fault.ts'
import { endReasons } from '../../domain/model/records.ts'
import { CONSOLE_CLIENT_ID } from '../../domain/operators/console-client.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { type Html, html } from '../../pages/html.ts'
import { type AuditLineRecord, searchAudit } from '../operations/audit.ts'
import { Refusal } from '../operations/refusal.ts'
import { exact, type Fact, facts, link, moment, nextLink, pathTo, titleRow } from './parts.ts'
import { addPage, type Console, queryOf, readList, type Visit } from './visit.ts'

const FIELDS = [
  ['wallet', 'Wallet', '0x…'],
  ['client_id', 'Client', 'client id'],
  ['grant_id', 'Grant', 'grant id'],
] as const
/** A text with proposals: a trail also has lines of operators who were removed. */
const PROPOSED = [
  ['operator', 'Operator', '0x…, id or cli:NAME'],
  ['reason', 'Reason', 'code_replayed'],
] as const
const CHOSEN = [
  ['event', 'Event', 'every event', recordedEvents.toSorted()],
  ['result', 'Result', 'done and refused', ['done', 'refused']],
] as const
/** The reasons that most lines have. */
const REASONS = Object.keys(endReasons).sort()
const TIMES = [
  ['since', 'Since, UTC'],
  ['until', 'Before, UTC'],
] as const

type EnteredFilter = Readonly<Record<string, string>>
type FoundLines = { lines: AuditLineRecord[]; next: string | null } | { fault: string }

export function auditPages(console: Console): void {
  addPage(console, '/console/audit', async (visit) => {
    const names = [...FIELDS, ...CHOSEN, ...PROPOSED, ...TIMES].map(([name]) => name)
    const entered: EnteredFilter = Object.fromEntries(names.map((name) => [name, visit.query.text(name).slice(0, 500)]))
    const filter = { ...entered, since: secondsOf(entered.since), until: secondsOf(entered.until) }
    const found = await searchTrail(console, visit, filter)
    const next = 'fault' in found || found.next === null ? null : `/console/audit${queryOf({ ...entered, after: found.next })}`
    return {
      title: 'Audit',
      content: html`${titleRow('Audit trail')}
<form method="get" action="/console/audit" class="filter" role="search" aria-label="Search the audit trail">
${FIELDS.map(([name, label, example]) => html`<div><label for="${name}">${label}</label><input type="text" id="${name}" name="${name}" value="${entered[name]}" placeholder="${example}" maxlength="500" autocomplete="off" spellcheck="false"></div>`)}
${CHOSEN.map(choiceField(entered))}
${PROPOSED.map(proposedField(entered, { operator: (await readOperators(console.admin.store)).map(({ id }) => id), reason: REASONS }))}
${TIMES.map(([name, label]) => html`<div><label for="${name}">${label}</label><input type="datetime-local" id="${name}" name="${name}" value="${entered[name]}" step="1"></div>\n`)}<p class="page-actions"><button class="button small" id="search">Search</button> ${link('/console/audit', 'Clear')}</p>
${'fault' in found && html`<p class="field-problem" role="alert">${found.fault}</p>`}
</form>
${'lines' in found && trail(found.lines)}
${nextLink(next, 'Older lines')}
<p class="fine">Export everything with its hashes: <code>grantor audit export</code>. This search in the API: <code>GET /v1/audit${queryOf(filter)}</code></p>`,
    }
  })
}

/** A value that is in no list is shown too: the address of the page may have it. */
function choiceField(entered: EnteredFilter): (field: (typeof CHOSEN)[number]) => Html {
  return ([name, label, any, values]) => {
    const chosen = entered[name] ?? ''
    const offered = chosen === '' || (values as readonly string[]).includes(chosen) ? values : [...values, chosen]
    return html`<div><label for="${name}">${label}</label><select id="${name}" name="${name}"><option value="">${any}</option>${offered.map((value) => html`<option${value === chosen && html` selected`}>${value}</option>`)}</select></div>`
  }
}

type Proposals = Record<(typeof PROPOSED)[number][0], readonly string[]>

function proposedField(entered: EnteredFilter, proposals: Proposals): (field: (typeof PROPOSED)[number]) => Html {
  return ([name, label, example]) =>
    html`<div><label for="${name}">${label}</label><input type="text" id="${name}" name="${name}" value="${entered[name]}" placeholder="${example}" maxlength="500" autocomplete="off" spellcheck="false" list="${name}-list"><datalist id="${name}-list">${proposals[name].map((value) => html`<option value="${value}">`)}</datalist></div>`
}

type FilterValues = Record<string, string | number | undefined>

/** A faulty search is repeated in the form, so that the operator can correct it. */
async function searchTrail(console: Console, visit: Visit, filter: FilterValues): Promise<FoundLines> {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '')
  try {
    const after = visit.query.text('after')
    const { items, next } = await readList(console, visit, searchAudit, { input: Object.fromEntries(given), after })
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

/** The value of a `datetime-local` field, as a time in UTC. */
function secondsOf(text: string | undefined): number | undefined {
  const at = text ? Date.parse(`${text}Z`) : Number.NaN
  return Number.isNaN(at) || at < 0 ? undefined : Math.floor(at / 1000)
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
