import { html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { accountLabel, type ShownAccount } from '../parts.ts'
import { symbol } from '../symbols.ts'

/** Explains what ending everything does, before the wallet signs it. Needs no session. */
export type EndEverything = {
  /** Path of the same origin that the form posts to. */
  action: string
  /** null if no user is signed in */
  account: ShownAccount | null
}

export function endEverythingPage({ action, account }: EndEverything, reader: Reader): string {
  const words = reader.texts.account.endEverything
  return layout({
    reader,
    hasChooser: true,
    title: words.title,
    slip: slip({
      head: html`<div class="notice">${symbol('stop')}
<h1>${words.title}</h1>
<p class="lead">${words.intro}</p>
</div>
<h2 class="label">${words.what}</h2>
<ul class="permissions">
${[words.apps, words.sessions, words.receipts, words.wallet].map((line) => html`<li>${symbol('tick')}<span>${line}</span></li>`)}
</ul>`,
      body: html`${account === null ? html`<p>${words.noSession}</p>` : html`<p class="signer"><span>${words.for}</span> ${accountLabel(account)}</p><p class="fine">${words.other}</p>`}
<form method="post" action="${action}">
<button class="button" id="go-on">${words.next}</button>
</form>
<p class="fine">${words.later}</p>
<p class="after"><a href="/account" id="back">${words.back}</a></p>`,
    }),
  })
}
