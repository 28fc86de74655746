/** The page of the settings in force. */

import { type Html, html } from '../../pages/html.ts'
import { listSettings, type SettingRecord, valueWithUnit } from '../operations/settings.ts'
import { buttonLink, exact, section, table, tag, titleRow } from './parts.ts'
import { addPage, type Console } from './visit.ts'

const TONES = { environment: 'good', file: 'good', default: 'plain' } as const

export function settingsPage(console: Console): void {
  addPage(console, '/console/settings', async (visit) => {
    const { items } = (await visit.run(listSettings)).output
    const sections = [...new Set(items.map((item) => item.section))]
    return {
      title: 'Settings',
      content: html`${titleRow('Settings', buttonLink('/console/look', 'The look of the pages'))}
<p class="lead">The settings of the process that answers, as it read them at its start. A setting is changed in the environment, and applies after a restart. Secrets are never shown.</p>
<div class="settings">${sections.map((name) => section(name, settingsTable(name, items)))}</div>
<p class="fine">For another machine, or before a start: <code>grantor settings</code>. In the API: <code>GET /v1/settings</code>. docs/reference/settings.md describes each setting.</p>`,
    }
  })
}

function settingsTable(name: string, items: readonly SettingRecord[]): Html {
  return table(
    name,
    [
      { name: 'Setting', cell: nameCell, kind: 'main' },
      { name: 'Value', cell: valueCell },
      { name: 'From', cell: ({ source }) => tag(source, TONES[source]) },
    ],
    items.filter((item) => item.section === name),
    '',
  )
}

function nameCell({ name, description }: SettingRecord): Html {
  return html`<details class="explained"><summary><code>${name}</code></summary><p class="fine">${withCode(description)}</p></details>`
}

/** A default that depends on something else is in words. */
function valueCell({ value, unit, is_set: isSet, is_secret: isSecret, default: usual }: SettingRecord): Html | string {
  if (isSecret) return isSet ? 'set' : html`<span class="none">not set</span>`
  if (value !== null) return exact(valueWithUnit({ value, unit }))
  return html`<span class="none">${withCode(usual ?? 'not set')}</span>`
}

/** Parts between backticks are code. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
