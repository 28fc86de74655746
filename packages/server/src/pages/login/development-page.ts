import type { LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { hasChoice, type LoginRequest, requestPlace } from '../login-request.ts'
import { fill, fillPlain, shortAddress } from '../words.ts'
import { chosenFields } from './by-hand.ts'
import { loginHead } from './login-head.ts'

/** The development login: plain forms whose ids never change, so that a tool can rely on them. */
export type DevelopmentAccount = { address: string; label: string }

export type RefusedDevelopment = {
  address: string
  problem: 'wrong_address' | 'needs_signature' | 'another_wallet' | 'limit_refused'
}

/** In English in every language: the page is for developers. */
const words = {
  title: 'Development',
  explain:
    'Development accounts, for trying things out on this machine. Their keys are public: never send anything of value to them.',
  address: 'Account',
  addressHint: 'One of the test accounts, or any other address; left empty, the first test account.',
  signIn: 'Sign in',
  noScript: 'Scripts are turned off here, so this button allows all that is asked for above.',
  wrongAddress: 'We cannot read this as a wallet address: 0x and 40 digits from 0 to f.',
  needsSignature:
    '{app} asks for a signature, and only the test accounts can give one here. Use one of them, or sign with your own wallet.',
  anotherWallet: 'Only {signer} can sign this.',
  limitRefused: 'A number of the limit cannot be signed. Each can only be lowered.',
  approveTitle: 'Sign in as {account}?',
  approveExplain:
    'Development only. A test account signs the same text that a wallet would; any other address is accepted without proof.',
  approve: 'Approve',
  deny: 'Deny',
}
const PROBLEMS = {
  wrong_address: words.wrongAddress,
  needs_signature: words.needsSignature,
  another_wallet: words.anotherWallet,
  limit_refused: words.limitRefused,
}

/** The first step, part of the login page: `#address` and `#sign-in`, in `#development`, which is closed. */
export function developmentForm(
  form: {
    request: LoginRequest
    loginChallenge: string
    accounts: readonly DevelopmentAccount[]
    refused?: RefusedDevelopment | undefined
  },
  reader: Reader,
): Html {
  const { request, accounts, refused } = form
  const names = { app: requestPlace(request, reader.texts), signer: shortAddress(request.loginHint ?? '') }
  return html`<details class="fold" id="development" lang="en" dir="ltr"${refused && html` open`}>
<summary>${words.title}</summary>
<p>${words.explain}</p>
<form method="post" action="/login/development">
<input type="hidden" name="login_challenge" value="${form.loginChallenge}">
<label for="address">${words.address}</label>
<p class="hint" id="address-hint">${words.addressHint}</p>
${refused && html`<p class="field-problem" id="address-problem">${fill(PROBLEMS[refused.problem], names)}</p>`}
<input class="code" id="address" name="address" list="development-accounts" value="${refused?.address}" placeholder="${accounts[0] && shortAddress(accounts[0].address)}" maxlength="64" autocapitalize="off" spellcheck="false" aria-describedby="address-hint${refused && ' address-problem'}"${refused && html` aria-invalid="true"`}>
<datalist id="development-accounts">
${accounts.map(({ address, label }) => html`<option value="${address}">${shortAddress(address)} · ${label}</option>`)}
</datalist>
${hasChoice(request) && html`<noscript><p class="fine">${words.noScript}</p></noscript>`}
<button class="button quiet" id="sign-in">${words.signIn}</button>
</form>
</details>`
}

/** The second step, a page of its own: `#approve` and `#deny`. */
export function developmentApprovalPage(
  step: {
    loginChallenge: string
    request: LoginRequest
    /** Epoch seconds. */
    now: number
    address: string
    /** The scopes that are on; if absent, all requested scopes. */
    chosen?: readonly string[] | undefined
    /** The numbers of the limit as they were typed; if absent, those of the request. */
    limit?: LimitChoice | undefined
  },
  reader: Reader,
): string {
  const { loginChallenge, request, address } = step
  const challenge = html`<input type="hidden" name="login_challenge" value="${loginChallenge}">`
  const account = html`<code class="account">${shortAddress(address)}</code>`
  return layout({
    reader,
    title: fillPlain(reader.texts.purpose[request.purpose].title, { app: requestPlace(request, reader.texts) }),
    slip: slip({
      head: loginHead({ ...step, scopes: 'listed' }, reader),
      body: html`<section class="development" lang="en" dir="ltr" aria-labelledby="approve-title">
<h2 id="approve-title">${fill(words.approveTitle, { account })}</h2>
<p>${words.approveExplain}</p>
<form method="post" action="/login/development-wallet">
${challenge}
<input type="hidden" name="address" value="${address}">
${chosenFields(step)}
<button class="button" id="approve">${words.approve}</button>
</form>
<form method="post" action="/login/deny">
${challenge}
<button class="button quiet" id="deny">${words.deny}</button>
</form>
</section>`,
    }),
  })
}
