/** The page of the audit trail. */
import { CONSOLE_CLIENT_ID } from '../domain/operators/console-client.ts'
import { searchAudit } from '../operations/audit.ts'
import type { Members } from '../operations/members/member.ts'
import { Refusal } from '../operations/refusal.ts'
import { AUDIT_FIELDS, auditPage } from '../pages/console/audit-page.ts'
import type { Fields } from './form.ts'
import { addPage, type Console, queryOf, readList } from './visit.ts'

type Entered = Readonly<Record<string, string>>

export function auditPages(console: Console): void {
  addPage(console, '/console/audit', async (visit) => {
    const { frame, query } = visit
    const entered = enteredIn(query)
    const filter = { ...entered, since: secondsOf(entered.since), until: secondsOf(entered.until) }
    const view = { frame, entered, apiPath: `/v1/audit${queryOf(filter)}`, consoleClientId: CONSOLE_CLIENT_ID }
    const input: Members = Object.fromEntries(
      Object.entries<unknown>(filter).filter(([, value]) => value !== undefined && value !== ''),
    )
    try {
      const { items, next } = await readList(console, visit, searchAudit, { input, after: query.text('after') })
      return auditPage({
        ...view,
        lines: items,
        next: next === null ? null : `/console/audit${queryOf({ ...entered, after: next })}`,
      })
    } catch (error) {
      // A faulty search is repeated in the form, so that the operator can correct it.
      if (!(error instanceof Refusal) || error.code !== 'invalid_request') throw error
      return auditPage({ ...view, lines: [], next: null, fault: error.faults.map(inWords).join(' ') })
    }
  })
}

function enteredIn(query: Fields): Entered {
  const names = [...AUDIT_FIELDS.map(([name]) => name), 'since', 'until']
  return Object.fromEntries(names.map((name) => [name, query.text(name).slice(0, 500)]))
}

/** The fault of a field as an operator reads it, without the pattern of the API. */
function inWords(fault: string): string {
  return fault.startsWith('wallet')
    ? 'Wallet is not an address: 0x and 40 hexadecimal digits with the right checksum (EIP-55).'
    : fault
}

/** The value of a `datetime-local` field, as a time in UTC. */
function secondsOf(text: string | undefined): number | undefined {
  const at = text ? Date.parse(`${text}Z`) : Number.NaN
  return Number.isNaN(at) || at < 0 ? undefined : Math.floor(at / 1000)
}
