import type { ClientPlace } from '../oauth/redirect-uri.ts'
import { type Fillable, type Html, html } from './html.ts'
import { layout, slip } from './layout.ts'
import type { Purpose } from './login-request.ts'
import { placeLine } from './parts.ts'
import { symbol } from './symbols.ts'
import { texts } from './texts.ts'
import { appTitle, fill } from './words.ts'

/**
 * A page that moves on by itself, at once, and has a link to the same place.
 *
 * Answered with 200 instead of a redirect: browsers hold `form-action` against every hop of a redirect that follows a form,
 * and wallets' in-app browsers lose cookies set on one.
 */
export type MovingOn = ClientPlace & {
  /** Absolute; the app's redirect URI, of any scheme it registered, or the auth service's own address. A form is posted there. */
  to: string | { action: string; fields: readonly (readonly [name: string, value: string])[] }
  clientName: string
  /** `to_sign`: not back to the app, but on to the login page. */
  outcome: 'signed_in' | 'denied' | 'allowed' | 'failed' | 'signed_out' | 'to_sign' | 'answered'
  /** What the login was for; an app when absent. */
  purpose?: Purpose | undefined
}

export function movingOnPage({ to, outcome, purpose = 'app', ...asking }: MovingOn): string {
  const words = texts.movingOn[wordsFor(outcome, purpose)]
  const target = followable(typeof to === 'string' ? to : to.action)
  const app = texts.purpose[purpose].place || appTitle(asking)
  const label = outcome === 'to_sign' || purpose === 'end_everything' ? texts.movingOn.onward : fill(texts.movingOn.link, { app })
  const isForm = typeof to !== 'string'
  return layout({
    title: words.title,
    // `form-post.js` presses the button of the form; without script the person does.
    extras: isForm
      ? html`<script type="module" src="/assets/form-post.js"></script>`
      : html`<meta http-equiv="refresh" content="0;url=${target}">`,
    slip: slip({
      head: html`<div class="notice" data-outcome="${outcome}">
${symbol(outcome === 'signed_in' || outcome === 'allowed' || outcome === 'signed_out' ? 'done' : 'info')}
<h1>${words.title}</h1>
<p class="lead">${fill(words.text, { app })}</p>
${placeLine(asking)}
</div>`,
      body: html`<p class="fine">${texts.movingOn.slow}</p>
${isForm ? answerForm(target, to.fields, label) : html`<p class="actions"><a class="button" id="continue" href="${target}">${label}</a></p>`}`,
    }),
  })
}

/** OAuth 2.0 Form Post Response Mode §2 */
function answerForm(action: string, fields: readonly (readonly [string, string])[], label: Fillable): Html {
  return html`<form method="post" action="${action}">
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}<p class="actions"><button class="button" id="continue">${label}</button></p>
</form>`
}

/** Ending everything signs nobody in, and a login for no app has none to tell of a refusal. */
function wordsFor(outcome: MovingOn['outcome'], purpose: Purpose): MovingOn['outcome'] | 'ending' | 'cancelled' {
  if (purpose !== 'app' && outcome === 'denied') return 'cancelled'
  return purpose === 'end_everything' && outcome === 'signed_in' ? 'ending' : outcome
}

/** A redirect URI was checked when it was registered. This is the last gate: an address that runs as script is a defect. */
function followable(to: string): string {
  const { protocol } = new URL(to)
  if (['javascript:', 'data:', 'vbscript:', 'blob:', 'file:'].includes(protocol)) throw new TypeError('not a place to move on to')
  return to
}
