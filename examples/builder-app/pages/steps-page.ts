import { decodeAccessToken } from '../access-token.ts'
import { maskSecret, shortenAddresses } from '../mask.ts'
import type { DemoSession, StepName, Tokens } from '../sessions.ts'
import { claimsView } from './claims-view.ts'
import type { Html } from './html.ts'
import { html } from './html.ts'
import { layout, timeOfDay } from './layout.ts'
import { actionForm, noticeView, stepView } from './step-view.ts'
import type { Addresses } from './welcome-page.ts'

/** A signed-in person's page: the four phases, each step with its latest message. */
export function stepsPage(session: DemoSession, tokens: Tokens, addresses: Addresses, now: number): string {
  const newest = [...session.reports.keys()].at(-1)
  // A sign-in is two steps that happen together.
  const isNewest = (name: StepName) => name === newest || (name === 'sign-in' && newest === 'exchange')
  const reportOf = (name: StepName) => ({ report: session.reports.get(name), newest: isNewest(name) })
  const over = session.reports.get('revoke')?.outcome === 'done'
  return layout({
    title: 'Signed in · Demo builder app',
    tab: '/',
    aside: html`<div class="account"><span class="chip" id="scope">${tokens.scope}</span>${actionForm('sign-out', '/sign-out', 'Sign out', 'quiet')}</div>`,
    content: html`${noticeView(session.notice)}
<h1>${over ? 'This app may do nothing any more' : 'This app may now act for your wallet'}</h1>
${tokensView(tokens, now, over)}
<section aria-labelledby="phase-1">
<h2 id="phase-1"><span>Phase 1</span> Sign in and get tokens</h2>
<ol class="steps">
${stepView({
  name: 'code',
  title: 'A code arrived',
  text: html`Your browser went to the authorization service and came back. What it carried back is not a token: a code in an
address bar ends up in histories, so it works once and only together with this app’s own secret.`,
  ...reportOf('sign-in'),
})}
${stepView({
  name: 'tokens',
  title: 'The code became tokens',
  text: html`Server to server, behind your browser’s back. The app proves who it is with its secret, and that it is the one who
asked with the secret behind the hash.`,
  ...reportOf('exchange'),
})}
${stepView({
  name: 'access-token',
  title: 'What the access token says',
  text: html`A signed note that any API can read and check with the service’s published keys. This one was decoded for you; apps
need not look inside.`,
  detail: claimsView(tokens.accessToken),
})}
${stepView({
  name: 'call-api',
  title: 'Call the API',
  text: html`The app shows the access token, and the API answers for your wallet. This API asks the service at every call whether
the token still works.`,
  action: actionForm('call-api', '/call-api', 'Call the API'),
  ...reportOf('call-api'),
})}
</ol>
</section>
<section aria-labelledby="phase-2">
<h2 id="phase-2"><span>Phase 2</span> Refresh</h2>
<ol class="steps">
${stepView({
  name: 'refresh',
  title: 'Get new tokens',
  text: html`An access token is short-lived, so a lost one is soon worthless. The refresh token gets the next one without bothering
you, and is itself replaced each time.`,
  action: actionForm('refresh', '/refresh', 'Refresh'),
  ...reportOf('refresh'),
})}
</ol>
</section>
<section aria-labelledby="phase-3">
<h2 id="phase-3"><span>Phase 3</span> Introspect</h2>
<ol class="steps">
${stepView({
  name: 'introspect',
  title: 'Ask whether the token works',
  text: html`The signed note cannot know that it was revoked. The service does: for a token that works it tells what it is, for any
other only that it is not active.`,
  action: actionForm('introspect', '/introspect', 'Introspect'),
  ...reportOf('introspect'),
})}
</ol>
</section>
<section aria-labelledby="phase-4">
<h2 id="phase-4"><span>Phase 4</span> Revoke</h2>
<ol class="steps">
${stepView({
  name: 'revoke',
  title: 'End it',
  text: html`What a good app does when you disconnect it. Revoking the refresh token ends the whole permission, the access tokens
made under it included, from this moment on.`,
  action: actionForm('revoke', '/revoke', 'Revoke', 'danger'),
  ...reportOf('revoke'),
})}
${stepView({
  name: 'again',
  title: 'Sign in again',
  text: html`The authorization service still knows your browser, so it sends you straight back with a new code: no page, no
signature.${session.signIns > 1 && html` <b id="round-trip">The last time took ${durationOf(session.roundTrip)}.</b>`}`,
  action: html`<p><a class="button" id="start" href="/start">Sign in again</a></p>`,
})}
</ol>
</section>
<p class="end">The API is <code>${addresses.apiUrl}</code>, the authorization service <code>${addresses.issuer}</code>.</p>`,
  })
}

function durationOf(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1_000)} milliseconds` : `${seconds.toFixed(1)} seconds`
}

function tokensView({ accessToken, refreshToken, expiresAt }: Tokens, now: number, over: boolean): Html {
  const left = Math.max(0, Math.floor(expiresAt - now))
  const state = over ? 'revoked' : left === 0 ? 'expired' : `expires in ${left} seconds, at ${timeOfDay(expiresAt)}`
  return html`<dl class="tokens${over || left === 0 ? ' over' : ''}" id="token-summary">
<div><dt>Access token</dt><dd><code>${maskSecret(accessToken)}</code> <span>${state}</span></dd></div>
<div><dt>Refresh token</dt><dd>${
    refreshToken === undefined
      ? 'none'
      : html`<code>${maskSecret(refreshToken)}</code> <span>${over ? 'revoked' : 'works until it is used'}</span>`
  }</dd></div>
<div><dt>Wallet</dt><dd><code id="wallet">${walletOf(accessToken)}</code></dd></div>
</dl>`
}

/** `sub` of the token, both ends of it. */
function walletOf(accessToken: string): string {
  const { sub } = decodeAccessToken(accessToken).claims
  return typeof sub === 'string' ? shortenAddresses(sub) : 'unknown'
}
