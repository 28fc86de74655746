/** What the page of a client has besides its properties. */
import { getSetupOfClient } from '../operations/clients.ts'
import { environmentText, type Setup } from '../operations/setup.ts'
import { type Html, html } from '../pages/html.ts'
import { link, section, withCopyButton } from './parts.ts'
import { queryOf, type Visit } from './visit.ts'

export async function clientSections(visit: Visit, clientId: string): Promise<Html> {
  const { output } = await visit.run(getSetupOfClient, { id: clientId })
  const grants = `/console/grants${queryOf({ client_id: clientId, active: true })}`
  return html`${section('Grants', html`<p>${link(grants, 'The grants of this client')}</p>`)}
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
