import type { AuditLineRecord } from '../../operations/audit.ts'
import { type Html, html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { exact, type Fact, facts, link, moment, nextLink, pathTo, titleRow } from './parts.ts'

export const AUDIT_FIELDS = [
  ['wallet', 'Wallet', '0x…'],
  ['client_id', 'Client', 'client id'],
  ['grant_id', 'Grant', 'grant id'],
  ['operator', 'Operator', '0x…, id or cli:NAME'],
  ['event', 'Event', 'client_deleted'],
  ['reason', 'Reason', 'code_replayed'],
] as const

export type AuditView = {
  frame: Frame
  entered: Readonly<Record<string, string>>
  fault?: string | undefined
  lines: AuditLineRecord[]
  next: string | null
  /** its id is in lines of sign-ins, but it is in no list of clients */
  consoleClientId: string
  /** the path of the same search in the API */
  apiPath: string
}

export function auditPage({ frame, entered, fault, lines, next, apiPath, consoleClientId }: AuditView): string {
  return consoleLayout({
    title: 'Audit',
    frame,
    content: html`${titleRow('Audit trail')}
<form method="get" action="/console/audit" class="filter" role="search" aria-label="Search the audit trail">
${AUDIT_FIELDS.map(([name, label, example]) => html`<div><label for="${name}">${label}</label><input type="text" id="${name}" name="${name}" value="${entered[name]}" placeholder="${example}" maxlength="500" autocomplete="off" spellcheck="false"></div>`)}
${time('since', 'Since, UTC', entered)}
${time('until', 'Before, UTC', entered)}
<p class="page-actions"><button class="button small" id="search">Search</button> ${link('/console/audit', 'Clear')}</p>
${fault !== undefined && html`<p class="field-problem" role="alert">${fault}</p>`}
</form>
${trail({ fault, lines, consoleClientId })}
${nextLink(next, 'Older lines')}
<p class="fine">Export everything with its hashes: <code>grantor audit export</code>. This search in the API: <code>GET ${apiPath}</code></p>`,
  })
}

function trail({ fault, lines, consoleClientId }: Pick<AuditView, 'fault' | 'lines' | 'consoleClientId'>): Html | false {
  if (fault !== undefined) return false
  if (lines.length === 0) return html`<p class="lead empty">No line matches.</p>`
  return html`<ol class="trail" reversed>${lines.map((line) => lineItem(line, consoleClientId))}</ol>`
}

function time(name: 'since' | 'until', label: string, entered: Readonly<Record<string, string>>): Html {
  return html`<div><label for="${name}">${label}</label><input type="datetime-local" id="${name}" name="${name}" value="${entered[name]}" step="1"></div>`
}

const SUMMARY = new Set(['seq', 'at', 'event', 'result'])
const LINKS: Readonly<Record<string, (value: string) => string>> = {
  client_id: (id) => pathTo('clients', id),
  grant_id: (id) => pathTo('grants', id),
}

function lineItem(line: AuditLineRecord & { [member: string]: unknown }, consoleClientId: string): Html {
  const who = line.operator ?? line.wallet ?? line.client_id
  return html`<li><details><summary><span class="when">${moment(line.at)}</span> <span class="event"><code>${line.event}</code>${line.result === 'refused' && html` <span class="tag warn">refused</span>`}${typeof line.reason === 'string' && html` <code class="reason">${line.reason}</code>`}</span> <span class="by">${typeof who === 'string' && exact(who)}</span></summary>
${facts([['seq', String(line.seq)], ['result', line.result], ...Object.entries(line).flatMap(([name, value]) => factOf(name, value, consoleClientId))])}
</details></li>`
}

function factOf(name: string, value: unknown, consoleClientId: string): Fact[] {
  if (SUMMARY.has(name) || value === undefined || value === null) return []
  if (typeof value === 'object')
    return Object.entries(value).map(([inner, text]) => [`${name}.${inner}`, exact(String(text))] as Fact)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const to = LINKS[name]
  if (text === consoleClientId) return [[name, html`${exact(text)} this console`]]
  return [[name, to && text.length < 200 ? link(to(text), exact(text)) : exact(text)]]
}
