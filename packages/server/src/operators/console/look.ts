/** The look of the pages that users see, in both schemes. Settings decide it, so this page changes nothing. */
import { type Html, html } from '../../pages/html.ts'
import { ENGLISH } from '../../pages/languages.ts'
import { masthead, slip } from '../../pages/layout.ts'
import { GRANTOR_LOOK, type Look } from '../../pages/look.ts'
import { appName } from '../../pages/parts.ts'
import { facts, section, titleRow } from './parts.ts'
import { addPage, type Console } from './visit.ts'

export function lookPage(console: Console): void {
  const look = console.admin.look ?? GRANTOR_LOOK
  addPage(console, '/console/look', async () => ({
    title: 'Look',
    content: html`${look.previewStyle}${titleRow('Look')}
<p class="lead">The top of a sign-in, as users see it. The settings of both servers decide it: docs/operating/branding.md.</p>
<div class="columns">
${section('Light', preview(look, 'light'))}
${section('Dark', preview(look, 'dark'))}
</div>
${section('Settings', settingsOf(look))}`,
  }))
}

function preview(look: Look, scheme: 'light' | 'dark'): Html {
  const reader = { ...ENGLISH, look }
  const app = 'Example App'
  const head = appName(
    { heading: html`<p class="preview-title">Sign in to ${app}</p>`, app, place: { clientHost: 'app.example.com' } },
    reader,
  )
  const body = html`<p><a href="#page">A link</a></p>
<p class="actions"><span class="button">A button</span><span class="button quiet">Another button</span></p>`
  return html`<div class="preview scheme-${scheme}">${masthead(look)}${slip({ head, body })}</div>`
}

function settingsOf({ name, accentColor, logo, helpUrl, privacyUrl }: Look): Html {
  const none = html`<span class="none">not set</span>`
  return facts([
    ['Name', html`<bdi>${name}</bdi>`],
    ['Logo', logo ? `${logo.width} × ${logo.height} pixels, ${logo.bytes.length} bytes` : none],
    ['Accent colour', accentColor === undefined ? none : html`<code>${accentColor}</code>`],
    ['Help', helpUrl ?? none],
    ['Privacy', privacyUrl ?? none],
  ])
}
