import { byHandForm } from './by-hand.ts'
import { type Html, html } from './html.ts'
import { layout, slip } from './layout.ts'
import { noticeContent } from './notice-page.ts'
import { appHeading, permissions, type Scope } from './parts.ts'
import { symbol } from './symbols.ts'
import { texts } from './texts.ts'
import { displayName, fill, fillPlain, shortAddress } from './words.ts'

/** What an app asks of the person who signs in. `expiresAt` in epoch seconds. */
export type LoginRequest = { clientName: string; clientHost: string; scopes: Scope[]; chainIds: number[]; expiresAt: number }

export type DevelopmentAccount = { address: string; label: string }

export type Login = {
  loginChallenge: string
  request: LoginRequest
  /** Epoch seconds. */
  now: number
  /** Only where a development wallet signs. */
  developmentAccounts?: readonly DevelopmentAccount[] | undefined
  /** What was typed into the form of the way by hand and could not be read as an address. */
  refusedAddress?: string | undefined
}

/**
 * The login form: which app asks for what, and the ways to sign.
 *
 * Nothing is chosen for the person and no wallet is asked anything before a click. The script (`browser/login.js`) shows the
 * wallets of this browser; without it, and for wallets elsewhere, there is the way by hand.
 */
export function loginPage(login: Login): string {
  const { request, loginChallenge, refusedAddress } = login
  const app = displayName(request.clientName) || request.clientHost
  return layout({
    title: fillPlain(texts.login.title, { app }),
    extras: html`<noscript><link rel="stylesheet" href="/assets/no-script.css"></noscript>
<script type="module" src="/assets/login.js"></script>`,
    slip: slip({
      head: loginHead(login, app),
      body: html`<div id="login" data-challenge="${loginChallenge}" data-chain-ids="${request.chainIds.join(' ')}" data-seconds-left="${secondsLeft(login)}">
${chooseSection({ app, loginChallenge, refusedAddress })}
${reviewSection()}
<div id="progress" class="message" role="status"></div>
<div id="problem" class="message problem" role="alert"></div>
<div id="other-ways">
<details class="fold needs-script" id="by-hand"${refusedAddress !== undefined && html` open`}>
<summary>${texts.byHand.title}</summary>
<p>${texts.byHand.explain}</p>
${byHandForm({ prefix: 'by-hand', loginChallenge, refusedAddress })}
</details>
${login.developmentAccounts && developmentSection(loginChallenge, login.developmentAccounts)}
</div>
<form class="cancel" method="post" action="/login/deny">
<input type="hidden" name="login_challenge" value="${loginChallenge}">
<button class="quiet-link" id="cancel">${fill(texts.login.cancel, { app })}</button>
</form>
</div>
${scriptWords(request, app)}`,
    }),
  })
}

/** Who asks, for what, and until when: the same above every step. */
export function loginHead({ request, now }: Pick<Login, 'request' | 'now'>, app: string): Html {
  const closes = new Date(request.expiresAt * 1000).toISOString()
  const time = html`<time id="open-until" datetime="${closes}">${closes.slice(11, 16)} UTC</time>`
  return html`${appHeading({ sentence: texts.login.title, app, host: request.clientHost })}
<p class="lead">${texts.login.intro}</p>
${permissions({ scopes: request.scopes, app, some: texts.login.mayDo, none: texts.login.mayNothing })}
${request.expiresAt > now && html`<p class="fine open-until">${symbol('clock')}<span>${fill(texts.login.openUntil, { time })}</span></p>`}`
}

function chooseSection(form: { app: string; loginChallenge: string; refusedAddress: string | undefined }): Html {
  const words = texts.noWallet
  return html`<section id="choose" aria-labelledby="choose-title">
<h2 id="choose-title" class="needs-script" tabindex="-1">${texts.login.choose}</h2>
<noscript>
<h2>${texts.login.noScriptTitle}</h2>
<p>${texts.login.noScript}</p>
${byHandForm({ prefix: 'no-script', loginChallenge: form.loginChallenge, refusedAddress: form.refusedAddress })}
</noscript>
<p id="looking" class="fine needs-script">${texts.login.looking}</p>
<ul id="wallets" class="wallets" hidden></ul>
<div id="no-wallet" class="help" hidden>
<h3>${words.title}</h3>
<p>${words.what}</p>
<ul>
<li>${words.extension}</li>
<li>${fill(words.phone, { app: form.app })}</li>
<li>${words.none} <a href="https://ethereum.org/wallets/find-wallet/" target="_blank" rel="noopener noreferrer">${words.find}</a></li>
</ul>
</div>
</section>`
}

/** Filled by the script: the exact text, the account, and the button that asks the wallet. */
function reviewSection(): Html {
  const words = texts.review
  return html`<section id="review" aria-labelledby="review-title" hidden>
<h2 id="review-title" tabindex="-1">${words.title}</h2>
<p>${words.explain}</p>
<p class="signer"><label for="account">${words.account}</label> <select id="account" class="code" hidden></select><output id="account-name" class="code"></output></p>
<pre id="message" class="paper" aria-label="${words.textLabel}" role="group"></pre>
<p class="actions">
<button type="button" class="button" id="sign"></button>
<button type="button" class="button quiet" id="back">${words.back}</button>
</p>
</section>`
}

function developmentSection(loginChallenge: string, accounts: readonly DevelopmentAccount[]): Html {
  const words = texts.development
  return html`<section class="development" aria-labelledby="development-title">
<h2 id="development-title">${words.title}</h2>
<p>${words.explain}</p>
<form method="post" action="/login/development-wallet">
<input type="hidden" name="login_challenge" value="${loginChallenge}">
<label for="address">${words.address}</label>
<select id="address" name="address">
${accounts.map(({ address, label }) => html`<option value="${address}">${shortAddress(address)} · ${label}</option>`)}
</select>
<button class="button" id="sign-in">${words.signIn}</button>
</form>
</section>`
}

/** The script's words, and the two ways a login ends while its page is open. Inert until the script takes from it. */
function scriptWords(request: LoginRequest, app: string): Html {
  const words = Object.entries({ ...texts.script, ...texts.wait, sign: texts.review.sign })
  const ended = { clientName: request.clientName, clientHost: request.clientHost }
  return html`<template id="words">
${words.map(([key, sentence]) => html`<p data-word="${key}">${sentence.replaceAll('{app}', app)}</p>`)}
</template>
<template id="ended-expired">${noticeContent({ kind: 'expired', ...ended })}</template>
<template id="ended-already_used">${noticeContent({ kind: 'already_used', ...ended })}</template>`
}

function secondsLeft({ request, now }: Login): number {
  return Math.max(0, request.expiresAt - now)
}
