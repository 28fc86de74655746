import { type ClientPlace, isLoopbackHost } from '../oauth/redirect-uri.ts'
import { html } from './html.ts'
import { layout, slip } from './layout.ts'
import { appHeading, permissions, type Scope } from './parts.ts'
import { texts } from './texts.ts'
import { appTitle, fill, fillPlain, hostnameOf } from './words.ts'

/** Asks the signed-in user, with one button, whether an app may continue (OpenID Connect Core §3.1.2.1, RFC 8252 §8.6). */
export type Confirm = ClientPlace & {
  /** Path or URL of the same origin that the form posts to. */
  action: string
  /** Returned in the hidden field `confirmation`; the caller checks it. */
  confirmation: string
  clientName: string
  scopes: Scope[]
  /** `0xf39F…2266`, never the whole address. */
  walletShort: string
}

export function confirmPage(confirm: Confirm): string {
  const words = texts.confirm
  const app = appTitle(confirm)
  const isOnDevice = confirm.clientScheme !== undefined || isLoopbackHost(hostnameOf(confirm.clientHost))
  return layout({
    title: fillPlain(words.title, { app }),
    slip: slip({
      head: html`${appHeading({ sentence: words.title, app, place: confirm })}
<p class="lead">${fill(isOnDevice ? words.introOnDevice : words.intro, { app })}</p>
${permissions({ scopes: confirm.scopes, app, some: words.mayDo, none: words.mayNothing })}`,
      body: html`<p class="signer"><span>${words.as}</span> <code class="account">${confirm.walletShort}</code></p>
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
