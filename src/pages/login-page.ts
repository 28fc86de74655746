import { byHandForm } from './by-hand.ts'
import { type DevelopmentAccount, developmentForm, type RefusedDevelopment } from './development-page.ts'
import { type Html, html } from './html.ts'
import { styleElement } from './inline.ts'
import { layout, slip } from './layout.ts'
import { loginHead, NO_SCRIPT_FORM } from './login-head.ts'
import { hasChoice, type LoginRequest, placeOf } from './login-request.ts'
import { noticeContent } from './notice-page.ts'
import { phonePanel } from './phone-panel.ts'
import { texts } from './texts.ts'
import { fill, fillPlain } from './words.ts'

export type { DevelopmentAccount } from './development-page.ts'

export type Login = {
  loginChallenge: string
  request: LoginRequest
  /** Epoch seconds. */
  now: number
  /** Only if a development wallet is configured. */
  developmentAccounts?: readonly DevelopmentAccount[] | undefined
  /** The scopes that are on in a form that is shown again with a problem; if absent, all of them. */
  chosen?: readonly string[] | undefined
  /** The text that the user entered by hand and that is not an address. */
  refusedAddress?: string | undefined
  /** The same for the development form, with the reason. */
  refusedDevelopment?: RefusedDevelopment | undefined
}

/**
 * The login form: the app, its request, and the ways to sign.
 *
 * Nothing is preselected, and no wallet receives a request before a click. The script (`browser/login.js`) shows the
 * wallets of this browser. Without script, and for wallets elsewhere, the user can sign by hand.
 */
export function loginPage(login: Login): string {
  const { request, loginChallenge, refusedAddress } = login
  const words = texts.purpose[request.purpose]
  const app = placeOf(request)
  return layout({
    title: fillPlain(words.title, { app }),
    extras: html`<noscript>${styleElement('noScript')}</noscript>`,
    script: 'login',
    slip: slip({
      head: loginHead({ ...login, scopes: 'switches' }),
      body: html`<div id="login" data-challenge="${loginChallenge}" data-chain-ids="${request.chainIds.join(' ')}" data-seconds-left="${secondsLeft(login)}">
${chooseSection(login, app)}
${reviewSection()}
<div id="progress" class="message" role="status"></div>
<div id="problem" class="message problem" role="alert"></div>
<div id="other-ways">
${request.resumeUrl && phonePanel(request.resumeUrl)}
<details class="fold needs-script" id="by-hand"${refusedAddress !== undefined && html` open`}>
<summary>${texts.byHand.title}</summary>
<p>${texts.byHand.explain}</p>
${byHandForm({ prefix: 'by-hand', loginChallenge, refusedAddress, expected: request.loginHint })}
</details>
${login.developmentAccounts && developmentForm({ ...login, accounts: login.developmentAccounts, refused: login.refusedDevelopment })}
</div>
<form class="cancel" method="post" action="/login/deny">
<input type="hidden" name="login_challenge" value="${loginChallenge}">
<button class="quiet-link" id="cancel">${fill(words.cancel, { app })}</button>
</form>
</div>
${scriptWords(request, app)}`,
    }),
  })
}

function chooseSection({ request, loginChallenge, refusedAddress, chosen }: Login, app: string): Html {
  const words = texts.noWallet
  // An empty field with the name of the switches: if no switch is on, the form must not look like a request for all
  // scopes
  const choice = hasChoice(request) ? { id: NO_SCRIPT_FORM, noneLeft: chosen?.length === 0 } : undefined
  return html`<section id="choose" aria-labelledby="choose-title">
<h2 id="choose-title" class="needs-script" tabindex="-1">${texts.login.choose}</h2>
<noscript>
<h2>${texts.login.noScriptTitle}</h2>
<p>${texts.login.noScript}</p>
${byHandForm({ prefix: 'no-script', loginChallenge, refusedAddress, choice, expected: request.loginHint })}
</noscript>
<p id="looking" class="fine needs-script">${texts.login.looking}</p>
<ul id="wallets" class="wallets" hidden></ul>
<div id="no-wallet" class="help" hidden>
<h3>${words.title}</h3>
<p>${words.what}</p>
<ul>
<li>${words.extension}</li>
<li>${request.resumeUrl ? words.phone : fill(words.noPhone, { app })}</li>
<li>${words.none} <a href="https://ethereum.org/wallets/find-wallet/" target="_blank" rel="noopener noreferrer">${words.find}</a></li>
</ul>
</div>
</section>`
}

/** The script fills in the exact text, the account, and the button that requests the signature. */
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

/** The script's texts, and the notices for a login that ends while its page is open. Inert until the script reads them. */
function scriptWords(request: LoginRequest, app: string): Html {
  const { sign, again } = texts.review
  const words = Object.entries({ ...texts.script, ...texts.wait, sign, again })
  const ended = { clientName: app, clientHost: request.clientHost, clientScheme: request.clientScheme }
  return html`<template id="words">
${words.map(([key, sentence]) => html`<p data-word="${key}">${sentence.replaceAll('{app}', app)}</p>`)}
</template>
${(['expired', 'already_used', 'continued_elsewhere'] as const).map((kind) => html`<template id="ended-${kind}">${noticeContent({ kind, ...ended })}</template>\n`)}`
}

function secondsLeft({ request, now }: Login): number {
  return Math.max(0, request.expiresAt - now)
}
