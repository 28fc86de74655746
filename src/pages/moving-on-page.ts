import { html } from './html.ts'
import { layout, slip } from './layout.ts'
import { symbol } from './symbols.ts'
import { texts } from './texts.ts'
import { displayName, fill } from './words.ts'

/**
 * A page that moves on by itself, at once, and has a link to the same place.
 *
 * Answered with 200 instead of a redirect: browsers hold `form-action` against every hop of a redirect that follows a form,
 * and wallets' in-app browsers lose cookies set on one.
 */
export type MovingOn = {
  /** Absolute; the app's redirect URI, of any scheme it registered, or the auth service's own address. */
  to: string
  clientName: string
  clientHost: string
  outcome: 'signed_in' | 'denied' | 'allowed' | 'failed'
}

export function movingOnPage({ to, clientName, clientHost, outcome }: MovingOn): string {
  const words = texts.movingOn[outcome]
  const target = followable(to)
  const app = displayName(clientName) || clientHost
  return layout({
    title: words.title,
    extras: html`<meta http-equiv="refresh" content="0;url=${target}">`,
    slip: slip({
      head: html`<div class="notice" data-outcome="${outcome}">
${symbol(outcome === 'signed_in' || outcome === 'allowed' ? 'done' : 'info')}
<h1>${words.title}</h1>
<p class="lead">${fill(words.text, { app })}</p>
<p class="host">${symbol('host')}<bdi>${clientHost}</bdi></p>
</div>`,
      body: html`<p class="fine">${texts.movingOn.slow}</p>
<p class="actions"><a class="button" id="continue" href="${target}">${fill(texts.movingOn.link, { app })}</a></p>`,
    }),
  })
}

/** A redirect URI was checked when it was registered. This is the last gate: an address that runs as script is a defect. */
function followable(to: string): string {
  const { protocol } = new URL(to)
  if (['javascript:', 'data:', 'vbscript:', 'blob:', 'file:'].includes(protocol)) throw new TypeError('not a place to move on to')
  return to
}
