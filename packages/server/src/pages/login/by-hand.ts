import { LIMIT_CHOICES, type LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { hasChoice, type LoginRequest } from '../login-request.ts'
import { fill, shortAddress } from '../words.ts'

/** The first step without a wallet in this browser: the user enters an address. A plain form that needs no script. */
export function byHandForm(
  form: {
    prefix: string
    loginChallenge: string
    request: LoginRequest
    refusedAddress?: string | undefined
    /** Absent if the text that the user entered is not an address. */
    refusal?: 'another_wallet' | 'limit_refused' | undefined
    /** The id of the form that the switches of the scopes and the numbers of the limit belong to, and whether all switches were off. */
    choice?: { id: string; noneLeft: boolean } | undefined
  },
  reader: Reader,
): Html {
  const { texts } = reader
  const words = texts.byHand
  const id = `${form.prefix}-address`
  const { choice, request, refusedAddress } = form
  const refused = refusedAddress !== undefined && form.refusal !== 'limit_refused' && !choice?.noneLeft
  // Everyone with the link of an approval sees this form, so it does not contain the whole address of the wallet.
  const expected = request.approval ? undefined : request.loginHint
  return html`<form class="by-hand"${choice && html` id="${choice.id}"`} method="post" action="/login/message">
<input type="hidden" name="login_challenge" value="${form.loginChallenge}">
${choice && hasChoice(request) && html`<input type="hidden" name="scope" value="">`}
${choice?.noneLeft && html`<p class="field-problem" id="scopes-problem">${texts.script.oneMustStay}</p>`}
<label for="${id}">${words.address}</label>
<p class="hint" id="${id}-hint">${words.addressHint}</p>
${refused && html`<p class="field-problem" id="${id}-problem">${form.refusal === 'another_wallet' ? onlySigner(request, reader) : words.wrongAddress}</p>`}
<input class="code" id="${id}" name="address" value="${refusedAddress ?? expected}" required maxlength="64" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="${id}-hint${refused && ` ${id}-problem`}"${refused && html` aria-invalid="true"`}>
<button class="button" id="${form.prefix}-show">${words.showText}</button>
</form>`
}

/** What the user chose, for the next step. */
export function chosenFields({
  chosen,
  limit,
}: {
  chosen?: readonly string[] | undefined
  limit?: LimitChoice | undefined
}): Html {
  const numbers = limit ? LIMIT_CHOICES.filter((name) => limit[name] !== undefined) : []
  return html`${chosen && html`<input type="hidden" name="scope" value="${chosen.join(' ')}">`}${numbers.map((name) => html`<input type="hidden" name="limit_${name}" value="${limit?.[name]}">`)}`
}

/** The account that must sign an approval. */
export function onlySigner({ loginHint = '' }: LoginRequest, { texts }: Reader): Html {
  return fill(texts.approve.only, { account: html`<code class="account">${shortAddress(loginHint)}</code>` })
}
