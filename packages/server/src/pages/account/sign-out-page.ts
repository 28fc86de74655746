import { html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { accountLabel, type ShownAccount } from '../parts.ts'
import { appTitle, fill } from '../words.ts'

/** The question whether to sign out of this browser, with one button, if an app or a link requests it. */
export type SignOut = ShownAccount & {
  /** Path of the same origin that the form posts to. */
  action: string
  /** Returned in the hidden field `question`; the caller checks it. */
  question: string
  /** Absent if the requesting app is unknown. */
  clientName?: string | undefined
  clientHost?: string | undefined
  clientScheme?: string | undefined
}

export function signOutPage(
  { action, question, clientName, clientHost, clientScheme, ...account }: SignOut,
  reader: Reader,
): string {
  const { texts } = reader
  const words = texts.signOut
  const app = clientHost === undefined ? '' : appTitle({ clientName: clientName ?? '', clientHost, clientScheme }, texts)
  return layout({
    reader,
    hasChooser: true,
    title: words.title,
    slip: slip({
      head: html`<h1>${words.title}</h1>
<p class="lead">${app ? fill(words.intro, { app }) : words.introUnknown}</p>
<p>${words.what}</p>`,
      body: html`<p class="signer"><span>${words.as}</span> ${accountLabel(account)}</p>
<form method="post" action="${action}">
<input type="hidden" name="question" value="${question}">
<p class="actions">
<button class="button" id="sign-out" name="decision" value="sign_out">${words.signOut}</button>
<button class="button quiet" id="stay" name="decision" value="stay">${words.stay}</button>
</p>
</form>`,
    }),
  })
}
