import { decodeAccessToken } from '../access-token.ts'
import { maskSecret, shortenAddresses } from '../mask.ts'
import type { StepReport } from '../report.ts'
import type { DemoSession, StepName, Tokens } from '../sessions.ts'
import { claimsView } from './claims-view.ts'
import type { Html } from './html.ts'
import { html } from './html.ts'
import { layout, timeOfDay } from './layout.ts'
import { actionForm, noticeView, stepView } from './step-view.ts'
import type { Addresses } from './welcome-page.ts'

/** The page of a signed-in user: the four phases, and each step with its latest message. */
export function stepsPage(session: DemoSession, tokens: Tokens, addresses: Addresses, now: number): string {
  const isRevoked = session.reports.get('revoke')?.outcome === 'done'
  return layout({
    title: 'Signed in · Demo builder app',
    tab: '/',
    aside: html`<div class="account"><span class="chip" id="scope">${tokens.scope}</span>${actionForm('sign-out', '/sign-out', 'Sign out', 'quiet')}</div>`,
    content: html`${noticeView(session.notice)}
<h1>${isRevoked ? 'This app may do nothing any more' : 'This app may now act for your wallet'}</h1>
${tokensView(tokens, tokenState(tokens, now, session))}
${phase(1, 'Sign in and get tokens', signInSteps(session, tokens))}
${phase(2, 'Refresh', [refreshStep(session)])}
${phase(3, 'Introspect', [introspectStep(session)])}
${phase(4, 'Revoke', revokeSteps(session))}
<p class="end">The API is <code>${addresses.apiUrl}</code>, the authorization service <code>${addresses.issuer}</code>.</p>`,
  })
}

function phase(number: number, title: string, steps: Html[]): Html {
  const id = `phase-${number}`
  return html`<section aria-labelledby="${id}">
<h2 id="${id}"><span>Phase ${number}</span> ${title}</h2>
<ol class="steps">
${steps}
</ol>
</section>`
}

/** The latest report of a step. A sign-in is two steps that happen together, so both can be the newest. */
function reportOf({ reports }: DemoSession, name: StepName): { report: StepReport | undefined; newest: boolean } {
  const newest = [...reports.keys()].at(-1)
  return { report: reports.get(name), newest: name === newest || (name === 'sign-in' && newest === 'exchange') }
}

function signInSteps(session: DemoSession, tokens: Tokens): Html[] {
  return [
    stepView({
      name: 'code',
      title: 'A code arrived',
      text: html`Your browser went to the authorization service and came back with a code, not with a token. An address stays in the
history of the browser, so the code works once, and only together with this app’s own secret.`,
      ...reportOf(session, 'sign-in'),
    }),
    stepView({
      name: 'tokens',
      title: 'The code was exchanged for tokens',
      text: html`The app sent the code from its server to the authorization service. It authenticated with its secret, and proved with the
secret of the hash that it had sent the authorization request.`,
      ...reportOf(session, 'exchange'),
    }),
    stepView({
      name: 'access-token',
      title: 'The content of the access token',
      text: html`Any API can read the token, and check its signature with the service’s published keys. It is decoded here for you; an app
need not read it.`,
      detail: claimsView(tokens.accessToken),
    }),
    stepView({
      name: 'call-api',
      title: 'Call the API',
      text: html`The app presents the access token, and the API responds for your wallet. At every call, this API sends the token to the
service to check that it is still valid.`,
      action: actionForm('call-api', '/call-api', 'Call the API'),
      ...reportOf(session, 'call-api'),
    }),
  ]
}

function refreshStep(session: DemoSession): Html {
  return stepView({
    name: 'refresh',
    title: 'Get new tokens',
    text: html`An access token is short-lived, so a stolen one soon expires. The refresh token gets the next one without another
signature, and is replaced each time.`,
    action: actionForm('refresh', '/refresh', 'Refresh'),
    ...reportOf(session, 'refresh'),
  })
}

function introspectStep(session: DemoSession): Html {
  return stepView({
    name: 'introspect',
    title: 'Check whether the token is active',
    text: html`The token itself does not show that it was revoked. The service has this information: its response describes an active
token, and for any other token contains only that it is not active.`,
    action: actionForm('introspect', '/introspect', 'Introspect'),
    ...reportOf(session, 'introspect'),
  })
}

function revokeSteps(session: DemoSession): Html[] {
  return [
    stepView({
      name: 'revoke',
      title: 'End the permission',
      text: html`An app should do this when you disconnect it. Revoking the refresh token ends the whole permission at once, with all its
access tokens.`,
      action: actionForm('revoke', '/revoke', 'Revoke', 'danger'),
      ...reportOf(session, 'revoke'),
    }),
    stepView({
      name: 'again',
      title: 'Sign in again',
      text: html`Your browser still has a session at the authorization service, so the service sends it back at once with a new code: no
page, no signature.${session.signIns > 1 && html` <b id="round-trip">The last time took ${durationOf(session.roundTrip)}.</b>`}`,
      action: html`<p><a class="button" id="start" href="/start">Sign in again</a></p>`,
    }),
  ]
}

function durationOf(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1_000)} milliseconds` : `${seconds.toFixed(1)} seconds`
}

type TokenState = { isOver: boolean; words: string; isRevoked: boolean }

function tokenState({ expiresAt }: Tokens, now: number, { reports }: DemoSession): TokenState {
  const left = Math.max(0, Math.floor(expiresAt - now))
  if (reports.get('revoke')?.outcome === 'done') return { isOver: true, words: 'revoked', isRevoked: true }
  if (left === 0) return { isOver: true, words: 'expired', isRevoked: false }
  return { isOver: false, words: `expires in ${left} seconds, at ${timeOfDay(expiresAt)}`, isRevoked: false }
}

function tokensView({ accessToken, refreshToken }: Tokens, { isOver, words, isRevoked }: TokenState): Html {
  return html`<dl class="tokens${isOver && ' over'}" id="token-summary">
<div><dt>Access token</dt><dd><code>${maskSecret(accessToken)}</code> <span>${words}</span></dd></div>
<div><dt>Refresh token</dt><dd>${
    refreshToken === undefined
      ? 'none'
      : html`<code>${maskSecret(refreshToken)}</code> <span>${isRevoked ? 'revoked' : 'works until it is used'}</span>`
  }</dd></div>
<div><dt>Wallet</dt><dd><code id="wallet">${walletOf(accessToken)}</code></dd></div>
</dl>`
}

/** The wallet of the token (`sub`), shortened. */
function walletOf(accessToken: string): string {
  const { sub } = decodeAccessToken(accessToken).claims
  return typeof sub === 'string' ? shortenAddresses(sub) : 'unknown'
}
