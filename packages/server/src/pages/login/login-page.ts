import type { LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import { type Html, html } from '../html.ts'
import { scriptElement, styleElement } from '../inline.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { hasChoice, type LoginPurpose, type LoginRequest, requestPlace } from '../login-request.ts'
import { type NoticeKind, noticeContent } from '../notice-page.ts'
import { translationBox } from '../signed-text.ts'
import { symbol } from '../symbols.ts'
import { fill, fillPlain, shortAddress } from '../words.ts'
import { byHandForm } from './by-hand.ts'
import { type DevelopmentAccount, developmentForm, type RefusedDevelopment } from './development-page.ts'
import { findWallet } from './find-wallet.ts'
import { loginHead, NO_SCRIPT_FORM } from './login-head.ts'
import { phonePanel } from './phone-panel.ts'
import { type WalletConnect, walletConnectDialog, walletConnectStyle } from './walletconnect.ts'

export type { DevelopmentAccount } from './development-page.ts'

export type Login = {
  loginChallenge: string
  request: LoginRequest
  /** Epoch seconds. */
  now: number
  /** The page of a smart wallet's own window, if the operator offers one. */
  walletWindow?: string | undefined
  /** If the operator offers WalletConnect. */
  walletConnect?: WalletConnect | undefined
  /** Only if a development wallet is configured. */
  developmentAccounts?: readonly DevelopmentAccount[] | undefined
  /** The scopes that are on in a form that is shown again with a problem; if absent, all of them. */
  chosen?: readonly string[] | undefined
  /** The text that the user entered by hand and that is not an address. */
  refusedAddress?: string | undefined
  /** Why, if it is an address. */
  refusal?: 'another_wallet' | 'limit_refused' | undefined
  /** The numbers of the limit as they were typed. */
  limit?: LimitChoice | undefined
  /** The same for the development form, with the reason. */
  refusedDevelopment?: RefusedDevelopment | undefined
}

/**
 * The login form: the app, its request, and the ways to sign.
 *
 * Nothing is preselected, and no wallet receives a request before a click. The script (`browser/login.js`) shows the
 * wallets of this browser. Without script, and for wallets elsewhere, the user can sign by hand.
 */
export function loginPage(login: Login, reader: Reader): string {
  const { texts } = reader
  const { request, loginChallenge, refusedAddress, refusal } = login
  const signer = request.approval && shortAddress(request.loginHint ?? '')
  const words = texts.purpose[request.purpose]
  const app = requestPlace(request, texts)
  return layout({
    reader,
    hasChooser: true,
    isWide: true,
    title: fillPlain(words.title, { app }),
    extras: html`${scriptElement('hasWallet')}<noscript>${styleElement('noScript')}</noscript>${walletWindow(login)}${login.walletConnect && walletConnectStyle()}`,
    script: 'login',
    slip: slip({
      head: loginHead({ ...login, scopes: 'switches', isLimitRefused: isLimitRefused(login) }, reader),
      body: html`<div id="login" data-challenge="${loginChallenge}" data-chain-ids="${request.chainIds.join(' ')}" data-seconds-left="${secondsLeft(login)}" data-locale="${reader.formats().number.resolvedOptions().locale}"${signer && html` data-signer="${signer.toLowerCase()}"`}>
${chooseSection(login, app, reader)}
${reviewSection(reader)}
${dock(reader)}
<div id="other-ways">
<details class="fold needs-script" id="by-hand"${refusedAddress !== undefined && html` open`}>
<summary>${texts.byHand.title}</summary>
<p>${texts.byHand.explain}</p>
${byHandForm({ prefix: 'by-hand', loginChallenge, request, refusedAddress, refusal }, reader)}
</details>
${login.developmentAccounts && developmentForm({ ...login, accounts: login.developmentAccounts, refused: login.refusedDevelopment }, reader)}
</div>
<form class="cancel" method="post" action="/login/deny">
<input type="hidden" name="login_challenge" value="${loginChallenge}">
<button class="quiet-link" id="cancel">${fill(words.cancel, { app })}</button>
</form>
</div>
${scriptWords(login, app, reader)}
${login.walletConnect && walletConnectDialog(login.walletConnect, request, reader)}`,
    }),
  })
}

function isLimitRefused({ refusal, refusedDevelopment }: Login): boolean {
  return refusal === 'limit_refused' || refusedDevelopment?.problem === 'limit_refused'
}

/** Smart wallets are contracts, and sign in only on the home chain. Without a home chain their window is not offered. */
function walletWindow({ walletWindow: url, request: { homeChainId } }: Login): Html | undefined {
  if (url === undefined || homeChainId === undefined) return undefined
  return html`<meta name="wallet-window" content="${url}" data-chain-id="${homeChainId}">${scriptElement('walletWindow')}`
}

function chooseSection({ request, loginChallenge, refusedAddress, refusal, chosen }: Login, app: string, reader: Reader): Html {
  const { texts } = reader
  // An empty field with the name of the switches: if no switch is on, the form must not look like a request for all
  // scopes
  const choice = hasChoice(request) || request.limit ? { id: NO_SCRIPT_FORM, noneLeft: chosen?.length === 0 } : undefined
  return html`<section id="choose" aria-labelledby="choose-title">
<h2 id="choose-title" class="with-wallet" tabindex="-1">${texts.login.choose}</h2>
<ul id="wallets" class="wallets"></ul>
${request.resumeUrl !== null && html`<button type="button" class="phone-row with-wallet" id="use-phone" aria-expanded="false" aria-controls="phone"><span class="phone-icon">${symbol('device')}</span>${texts.phone.title}</button>`}
${phonePanel(request, reader) ?? noPhone(app, reader)}
<noscript>
<h2>${texts.login.noScriptTitle}</h2>
<p>${texts.login.noScript}</p>
${byHandForm({ prefix: 'no-script', loginChallenge, request, refusedAddress, refusal, choice }, reader)}
</noscript>
</section>`
}

/** Instead of the panel, for a login that cannot continue on another device. */
function noPhone(app: string, reader: Reader): Html {
  const { title, extension, noPhone } = reader.texts.noWallet
  return html`<div class="help without-wallet needs-script">
<h2>${title}</h2>
<p class="off-phone">${extension}</p>
<p>${fill(noPhone, { app })}</p>
${findWallet(reader)}
</div>`
}

/** The script fills in the exact text and the account. */
function reviewSection(reader: Reader): Html {
  const words = reader.texts.review
  return html`<section id="review" aria-labelledby="review-title" hidden>
<h2 id="review-title" tabindex="-1">${words.title}</h2>
<p class="signer"><label for="account">${words.account}</label> <select id="account" class="code" hidden></select><output id="account-name" class="code"></output></p>
<pre id="message" class="paper" aria-label="${words.textLabel}" role="group" lang="en" tabindex="0"></pre>
</section>`
}

/**
 * The messages, and the buttons for the text to sign. The stylesheet keeps both in view at the bottom of the window. What explains the text comes
 * after them, so that the buttons stand directly below the text.
 */
function dock(reader: Reader): Html {
  const { texts } = reader
  return html`<div class="dock">
<div id="progress" class="message" role="status"></div>
<div id="problem" class="message problem" role="alert"></div>
<p class="actions" id="sign-actions" hidden>
<button type="button" class="button" id="sign"></button>
<button type="button" class="button quiet" id="back">${texts.review.back}</button>
</p>
</div>
<section id="after-text" hidden>
<p class="fine" id="same-text">${texts.review.explain}</p>
${translationBox({}, reader)}
</section>`
}

/** The script's texts, and the notices for a login that ends while its page is open. Inert until the script reads them. */
function scriptWords({ request, loginChallenge, walletConnect }: Login, app: string, reader: Reader): Html {
  const { texts } = reader
  const { sign, signShort, again } = texts.review
  // An approval signs no user in
  const ofApproval = request.approval && { ...texts.approve.script, done: texts.movingOn.approving.text }
  const ofWalletConnect = walletConnect && texts.walletConnect.script
  const ofLimit = request.limit && { limitRefused: texts.limit.refused }
  const words = Object.entries<string>({ ...texts.script, sign, signShort, again, ...ofApproval, ...ofLimit, ...ofWalletConnect })
  const signer = shortAddress(request.loginHint ?? '')
  const ended = { clientName: app, clientHost: request.clientHost, clientScheme: request.clientScheme }
  const goOnHere = request.crossDevice && { retryUrl: `/login?login_challenge=${encodeURIComponent(loginChallenge)}` }
  return html`<template id="words">
${words.map(([key, sentence]) => html`<p data-word="${key}">${sentence.replaceAll('{app}', app).replaceAll('{signer}', signer)}</p>`)}
</template>
<template id="ended-expired">${noticeContent({ kind: EXPIRED[request.purpose] ?? 'expired', ...ended }, reader)}</template>
<template id="ended-already_used">${noticeContent({ kind: request.approval ? 'approval_answered' : 'already_used', ...ended }, reader)}</template>
<template id="ended-continued_elsewhere">${noticeContent({ kind: 'continued_elsewhere', ...ended }, reader)}</template>
<template id="ended-signed_on_other_device">${noticeContent({ kind: 'signed_on_other_device', ...ended, ...goOnHere }, reader)}</template>`
}

const EXPIRED: { readonly [Purpose in LoginPurpose]?: NoticeKind } = {
  cross_device: 'cross_device_expired',
  approval: 'approval_expired',
}

function secondsLeft({ request, now }: Login): number {
  return Math.max(0, request.expiresAt - now)
}
