import type { LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import { html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { type LoginRequest, requestPlace } from '../login-request.ts'
import { translationOf } from '../signed-text.ts'
import { fill, fillPlain, shortAddress, waitingTime } from '../words.ts'
import { chosenFields } from './by-hand.ts'
import { loginHead } from './login-head.ts'

/** The second step without script: the exact text, and a field for the signature that the user made elsewhere. */
export type SignByHand = {
  loginChallenge: string
  request: LoginRequest
  /** Epoch seconds. */
  now: number
  address: string
  chainId: number | undefined
  /** The scopes that are on; if absent, all requested scopes. */
  chosen?: readonly string[] | undefined
  /** The numbers of the limit as they were typed; if absent, those of the request. */
  limit?: LimitChoice | undefined
  /** Exactly what has to be signed, byte for byte. */
  message: string
  problem?: SignatureProblem | undefined
}

/** `signature`: given if it could not be checked yet and may be correct, so that the user need not make it again. */
export type SignatureProblem =
  | { kind: 'wrong_signature' | 'not_proven' }
  | { kind: 'could_not_check' | 'too_many'; signature: string; retryAfter: number | undefined }

const PROBLEMS = {
  wrong_signature: 'wrongSignature',
  not_proven: 'notProven',
  could_not_check: 'couldNotCheck',
  too_many: 'tooMany',
} as const

export function signByHandPage(step: SignByHand, reader: Reader): string {
  const { texts } = reader
  const words = texts.byHand
  const purpose = texts.purpose[step.request.purpose]
  const app = requestPlace(step.request, texts)
  const account = html`<code class="account">${shortAddress(step.address)}</code>`
  const { problem } = step
  const unchecked = problem && 'signature' in problem ? problem : null
  const wait = html`${waitingTime(unchecked?.retryAfter ?? 5, reader)}`
  return layout({
    reader,
    title: `${texts.review.title} · ${fillPlain(purpose.title, { app })}`,
    slip: slip({
      head: loginHead({ ...step, scopes: 'listed' }, reader),
      body: html`<h2>${texts.review.title}</h2>
<p>${fill(words.howTo, { account })}</p>
<label class="visually-hidden" for="message">${texts.review.textLabel}</label>
<textarea class="paper code" id="message" lang="en" readonly rows="${rows(step.message)}" spellcheck="false">
${step.message}</textarea>
${translationOf(step.message, reader)}
<form class="by-hand" method="post" action="/login">
<input type="hidden" name="login_challenge" value="${step.loginChallenge}">
<input type="hidden" name="address" value="${step.address}">
<input type="hidden" name="chain_id" value="${step.chainId}">
${chosenFields(step)}
<label for="signature">${words.signature}</label>
<p class="hint" id="signature-hint">${words.signatureHint}</p>
${problem && html`<p class="field-problem" id="signature-problem">${fill(words[PROBLEMS[problem.kind]], { account, wait })}</p>`}
<textarea class="code" id="signature" name="signature" rows="4" required maxlength="8192" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="signature-hint${problem && ' signature-problem'}"${problem && !unchecked && html` aria-invalid="true"`}>${unchecked?.signature}</textarea>
<p class="actions">
<button class="button" id="sign-in">${words.signIn}</button>
<a class="button quiet" id="other-address" href="/login?login_challenge=${encodeURIComponent(step.loginChallenge)}">${words.otherAddress}</a>
</p>
</form>
<form class="cancel" method="post" action="/login/deny">
<input type="hidden" name="login_challenge" value="${step.loginChallenge}">
<button class="quiet-link" id="cancel">${fill(purpose.cancel, { app })}</button>
</form>`,
    }),
  })
}

/** For browsers that cannot fit a field to its text (`field-sizing`). */
function rows(message: string): number {
  return message.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 48)), 1)
}
