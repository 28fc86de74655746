import { type ClientPlace, isLoopbackHost } from '../../protocol/oauth/redirect-uri.ts'
import { html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { accountLabel, appHeading, permissions, type Scope, type ShownAccount } from '../parts.ts'
import { appTitle, fill, fillPlain, hostnameOf } from '../words.ts'

/** The question to the signed-in user whether an app may continue, with one button (OpenID Connect Core §3.1.2.1, RFC 8252 §8.6). */
export type Confirm = ClientPlace &
  ShownAccount & {
    /** Path or URL of the same origin that the form posts to. */
    action: string
    /** Returned in the hidden field `confirmation`; the caller checks it. */
    confirmation: string
    clientName: string
    scopes: Scope[]
  }

export function confirmPage(confirm: Confirm, reader: Reader): string {
  const { texts } = reader
  const words = texts.confirm
  const app = appTitle(confirm, texts)
  const isOnDevice = confirm.clientScheme !== undefined || isLoopbackHost(hostnameOf(confirm.clientHost))
  return layout({
    reader,
    hasChooser: true,
    title: fillPlain(words.title, { app }),
    slip: slip({
      head: html`${appHeading({ sentence: words.title, app, place: confirm }, reader)}
<p class="lead">${fill(isOnDevice ? words.introOnDevice : words.intro, { app })}</p>
${permissions({ scopes: confirm.scopes, app, some: words.mayDo, none: words.mayNothing }, reader)}`,
      body: html`<p class="signer"><span>${words.as}</span> ${accountLabel(confirm)}</p>
<form method="post" action="${confirm.action}">
<input type="hidden" name="confirmation" value="${confirm.confirmation}">
<p class="actions">
<button class="button" id="approve" name="decision" value="allow">${words.allow}</button>
<button class="button quiet" id="deny" name="decision" value="deny">${words.deny}</button>
</p>
</form>
<p class="fine">${words.doubt}</p>`,
    }),
  })
}
