import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'

/** The first step without a wallet in this browser: the user enters an address. A plain form that needs no script. */
export function byHandForm(
  form: {
    prefix: string
    loginChallenge: string
    refusedAddress?: string | undefined
    /** The initial value of the field. */
    expected?: string | undefined
    /** The id of the form that the scope switches belong to, and whether all switches were off. */
    choice?: { id: string; noneLeft: boolean } | undefined
  },
  { texts }: Reader,
): Html {
  const words = texts.byHand
  const id = `${form.prefix}-address`
  const { choice, refusedAddress } = form
  const refused = refusedAddress !== undefined && !choice?.noneLeft
  return html`<form class="by-hand"${choice && html` id="${choice.id}"`} method="post" action="/login/message">
<input type="hidden" name="login_challenge" value="${form.loginChallenge}">
${choice && html`<input type="hidden" name="scope" value="">`}
${choice?.noneLeft && html`<p class="field-problem" id="scopes-problem">${texts.script.oneMustStay}</p>`}
<label for="${id}">${words.address}</label>
<p class="hint" id="${id}-hint">${words.addressHint}</p>
${refused && html`<p class="field-problem" id="${id}-problem">${words.wrongAddress}</p>`}
<input class="code" id="${id}" name="address" value="${refusedAddress ?? form.expected}" required maxlength="64" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="${id}-hint${refused && ` ${id}-problem`}"${refused && html` aria-invalid="true"`}>
<button class="button" id="${form.prefix}-show">${words.showText}</button>
</form>`
}
