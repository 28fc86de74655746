/** What the pages of clients and of webhooks have besides the properties of the record. */

import { type Html, html } from '../../pages/html.ts'
import type { Members } from '../members/member.ts'
import { getSetupOfClient } from '../operations/clients.ts'
import { deliveries, listDeliveries } from '../operations/deliveries.ts'
import { listGrants } from '../operations/grants.ts'
import { environmentText, type Setup } from '../operations/setup.ts'
import type { SubjectName } from '../operations/subject-name.ts'
import { grantsTable } from './grants.ts'
import { type Column, link, section, shownCell, table, withCopyButton } from './parts.ts'
import { type Console, queryOf, readList, type Visit } from './visit.ts'

export const ownSections: Partial<Record<SubjectName, (console: Console, visit: Visit, id: string) => Promise<Html>>> = {
  clients: clientSections,
  webhooks: deliverySection,
}

async function deliverySection(_console: Console, visit: Visit, id: string): Promise<Html> {
  const { items } = (await visit.run(listDeliveries, { input: { webhook_id: id } })).output
  const columns = deliveries.displays.map(
    ({ label, shown }): Column<Members> => ({ name: label, cell: (record) => shownCell(shown(record), visit.now) }),
  )
  return section('Last deliveries', table('Last deliveries', columns, items, deliveries.empty))
}

const GRANTS_SHOWN = 5

async function clientSections(console: Console, visit: Visit, clientId: string): Promise<Html> {
  const { output } = await visit.run(getSetupOfClient, { id: clientId })
  const latest = await readList(console, visit, listGrants, { input: { client_id: clientId }, limit: GRANTS_SHOWN })
  const all = `/console/grants${queryOf({ client_id: clientId, active: true })}`
  const grants = html`${await grantsTable(console, visit, latest.items, { at: 'client' })}<p class="fine">${link(all, 'The grants of this client')}</p>`
  return html`${section('Latest grants', grants)}
${section('Connect the app', setupContent(output), 'setup')}`
}

function setupContent(setup: Setup): Html {
  const { snippets, environment, note } = setup
  const secretNote =
    'CLIENT_SECRET' in environment &&
    html`<p class="fine">The secret is stored nowhere. Put in the one that was shown when it was made.</p>`
  return html`${withCopyButton(code('The values', environmentText(setup)), 'the values')}
${secretNote}
${note && html`<p>${note}</p>`}
${snippets.map(
  ({ library, code: text }) =>
    html`<details class="fold"><summary>${library}</summary>${withCopyButton(code(library, text), `the code for ${library}`)}</details>`,
)}
<p class="fine">docs/guides/clients.md has the whole code of each library, and of more of them. On a command line: <code>grantor clients setup</code>.</p>`
}

function code(label: string, text: string): Html {
  return html`<pre class="paper snippet" tabindex="0" role="group" aria-label="${label}">
${text}</pre>`
}
