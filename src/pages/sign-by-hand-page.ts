import { html } from './html.ts'
import { layout, slip } from './layout.ts'
import { type LoginRequest, loginHead } from './login-page.ts'
import { texts } from './texts.ts'
import { displayName, fill, fillPlain, shortAddress } from './words.ts'

/** The second step of the way without script: the exact text, and a field for the signature made elsewhere. */
export type SignByHand = {
  loginChallenge: string
  request: LoginRequest
  /** Epoch seconds. */
  now: number
  address: string
  chainId: number | undefined
  /** Exactly what has to be signed, byte for byte. */
  message: string
  problem?: 'wrong_signature' | 'not_proven' | undefined
}

export function signByHandPage(step: SignByHand): string {
  const words = texts.byHand
  const app = displayName(step.request.clientName) || step.request.clientHost
  const account = html`<code class="account">${shortAddress(step.address)}</code>`
  const { problem } = step
  return layout({
    title: `${texts.review.title} · ${fillPlain(texts.login.title, { app })}`,
    slip: slip({
      head: loginHead(step, app),
      body: html`<h2>${texts.review.title}</h2>
<p>${fill(words.howTo, { account })}</p>
<label class="visually-hidden" for="message">${texts.review.textLabel}</label>
<textarea class="paper code" id="message" readonly rows="${rows(step.message)}" spellcheck="false">
${step.message}</textarea>
<form class="by-hand" method="post" action="/login">
<input type="hidden" name="login_challenge" value="${step.loginChallenge}">
<input type="hidden" name="address" value="${step.address}">
<input type="hidden" name="chain_id" value="${step.chainId}">
<label for="signature">${words.signature}</label>
<p class="hint" id="signature-hint">${words.signatureHint}</p>
${problem && html`<p class="field-problem" id="signature-problem">${fill(problem === 'not_proven' ? words.notProven : words.wrongSignature, { account })}</p>`}
<textarea class="code" id="signature" name="signature" rows="4" required maxlength="8192" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="signature-hint${problem && ' signature-problem'}"${problem && html` aria-invalid="true"`}></textarea>
<p class="actions">
<button class="button" id="sign-in">${words.signIn}</button>
<a class="button quiet" id="other-address" href="/login?login_challenge=${encodeURIComponent(step.loginChallenge)}">${words.otherAddress}</a>
</p>
</form>
<form class="cancel" method="post" action="/login/deny">
<input type="hidden" name="login_challenge" value="${step.loginChallenge}">
<button class="quiet-link" id="cancel">${fill(texts.login.cancel, { app })}</button>
</form>`,
    }),
  })
}

/** For browsers that do not fit a field to its text by themselves (`field-sizing`). */
function rows(message: string): number {
  return message.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 48)), 1)
}
