import { CONSOLE_CLIENT_ID } from '../../domain/operators/console-client.ts'
import { AUDIT_FIELDS, type AuditLine, auditPage } from '../../pages/console/audit-page.ts'
import { Problem } from '../problem.ts'
import { queryOf } from './call-api.ts'
import { addPage, type Console } from './console.ts'
import type { Fields } from './form.ts'

type Entered = Readonly<Record<string, string>>

export function auditPages(console: Console): void {
  addPage(console, '/console/audit', async ({ frame, query, api }) => {
    const entered = enteredIn(query)
    const filter = { ...entered, since: secondsOf(entered.since), until: secondsOf(entered.until) }
    const apiPath = `/v1/audit${queryOf(filter)}`
    const view = { frame, entered, apiPath, consoleClientId: CONSOLE_CLIENT_ID }
    try {
      const { body } = await api<{ items: AuditLine[]; next: string | null }>(
        'GET',
        `/v1/audit${queryOf({ ...filter, after: query.text('after') })}`,
      )
      const next = body.next === null ? null : `/console/audit${queryOf({ ...entered, after: body.next })}`
      return auditPage({ ...view, lines: body.items, next })
    } catch (error) {
      // A faulty search is repeated in the form, so that the operator can correct it.
      if (!(error instanceof Problem) || error.code !== 'invalid_request') throw error
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
