import type { ClientPlace } from '../protocol/oauth/redirect-uri.ts'
import { type Fillable, type Html, html } from './html.ts'
import type { Reader } from './languages.ts'
import { layout, slip } from './layout.ts'
import type { LoginPurpose } from './login-request.ts'
import { placeLine } from './parts.ts'
import { symbol } from './symbols.ts'
import { appTitle, fill } from './words.ts'

/**
 * A page that continues by itself, at once, and has a link to the same destination.
 *
 * The status is 200, not a redirect: browsers apply `form-action` to every hop of a redirect after a form, and in-app
 * browsers of wallets lose cookies that a redirect sets.
 */
export type MovingOn = ClientPlace & {
  /**
   * Absolute: the app's redirect URI, with any scheme that it registered, or the auth service's own address. A form is
   * posted to this address.
   */
  to: string | { action: string; fields: readonly (readonly [name: string, value: string])[] }
  clientName: string
  /** `to_sign`: the destination is the login page, not the app. */
  outcome: 'signed_in' | 'denied' | 'allowed' | 'failed' | 'signed_out' | 'to_sign' | 'answered'
  /** The purpose of the login; if absent, an app. */
  purpose?: LoginPurpose | undefined
}

export function movingOnPage({ to, outcome, purpose = 'app', ...asking }: MovingOn, reader: Reader): string {
  const { texts } = reader
  const words = texts.movingOn[wordsFor(outcome, purpose)]
  const target = requireSafeScheme(typeof to === 'string' ? to : to.action)
  const app = texts.purpose[purpose].place || appTitle(asking, texts)
  const label =
    outcome === 'to_sign' ||
    purpose === 'device' ||
    purpose === 'cross_device' ||
    purpose === 'approval' ||
    purpose === 'end_everything'
      ? texts.movingOn.onward
      : fill(texts.movingOn.link, { app })
  const isForm = typeof to !== 'string'
  return layout({
    reader,
    title: words.title,
    // `form-post.js` submits the form; without script the user does.
    ...(isForm ? { script: 'formPost' } : { extras: html`<meta http-equiv="refresh" content="0;url=${target}">` }),
    slip: slip({
      head: html`<div class="notice" data-outcome="${outcome}">
${symbol(outcome === 'signed_in' || outcome === 'allowed' || outcome === 'signed_out' ? 'done' : 'info')}
<h1>${words.title}</h1>
<p class="lead">${fill(words.text, { app })}</p>
${placeLine(asking, reader)}
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

/** Ending everything signs no user in, and a login without an app has no app to return to. */
function wordsFor(
  outcome: MovingOn['outcome'],
  purpose: LoginPurpose,
): MovingOn['outcome'] | 'ending' | 'cancelled' | 'finishing' | 'finishing_browser' | 'approving' {
  if (purpose !== 'app' && outcome === 'denied') return 'cancelled'
  if (purpose === 'device' && outcome === 'signed_in') return 'finishing'
  if (purpose === 'approval' && outcome === 'signed_in') return 'approving'
  if (purpose === 'cross_device' && outcome === 'signed_in') return 'finishing_browser'
  return purpose === 'end_everything' && outcome === 'signed_in' ? 'ending' : outcome
}

/** Redirect URIs are checked at registration. This check is the last one: an address that runs as script is a defect. */
function requireSafeScheme(to: string): string {
  const { protocol } = new URL(to)
  if (['javascript:', 'data:', 'vbscript:', 'blob:', 'file:'].includes(protocol)) throw new TypeError('not a place to move on to')
  return to
}
