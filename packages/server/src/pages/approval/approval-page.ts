import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { appHeading, type Scope, scopeWords } from '../parts.ts'
import { symbol } from '../symbols.ts'
import { timeLeft } from '../times.ts'
import { appTitle, fill, fillPlain } from '../words.ts'

/** The action in the words of the API, and the host of the API. */
export type ApprovalWords = { summary: string; api: string }

/** One action that an API asks the user to sign. The page loads nothing that the API names. */
export type ApprovalPage = ClientPlace &
  ApprovalWords & {
    /** Path of the same origin that the form posts to. */
    action: string
    clientName: string
    scope: Scope
    /** The letters that the app shows beside the link: `WDJB-MJHT`. */
    userCode: string
    /** The apps that act for the first one, in their order (RFC 8693). */
    actors: (ClientPlace & { clientName: string })[]
    /** The only wallet that can sign: `0xf39F…2266`. */
    walletShort: string
    /** Epoch seconds. */
    expiresAt: number
    /** Epoch seconds. */
    now: number
  }

export function approvalPage(page: ApprovalPage, reader: Reader): string {
  const { texts } = reader
  const words = texts.approve
  const app = appTitle(page, texts)
  return layout({
    reader,
    hasChooser: true,
    title: fillPlain(words.title, { app }),
    slip: slip({
      head: html`${appHeading({ sentence: words.title, app, place: page }, reader)}
<p class="lead">${fill(words.intro, { app })}</p>
${actionInWords(page, reader)}
<dl class="facts">
<div><dt>${words.permission}</dt><dd>${scopeWords(page.scope, reader)}</dd></div>
${page.actors.length > 0 && html`<div><dt>${words.through}</dt><dd>${page.actors.map((actor, index) => html`${index > 0 && texts.comma}<bdi>${appTitle(actor, texts)}</bdi>`)}</dd></div>`}
<div><dt>${texts.device.code}</dt><dd><code>${page.userCode}</code></dd></div>
<div><dt>${words.wallet}</dt><dd><code class="account">${page.walletShort}</code></dd></div>
</dl>
${openUntil(page.expiresAt, page.now, reader)}`,
      body: html`<p class="message problem with-symbol">${symbol('stop')}<span>${words.warning}</span></p>
<form method="post" action="${page.action}">
<p class="actions">
<button class="button" id="sign" name="decision" value="sign">${words.sign}</button>
<button class="button quiet" id="decline" name="decision" value="decline">${words.decline}</button>
</p>
<p class="cancel"><button class="quiet-link" id="never" name="decision" value="never">${words.never}</button></p>
</form>`,
    }),
  })
}

/** The action, with its author in the line above it. */
export function actionInWords({ summary, api }: ApprovalWords, { texts }: Reader): Html {
  return html`<figure class="action">
<figcaption class="fine">${fill(texts.approve.words, { api: html`<strong><bdi>${api}</bdi></strong>` })}</figcaption>
${quotation(summary)}
</figure>`
}

/**
 * The words of an API in a frame and in quotation marks, so that a sentence that imitates this service is seen as a quotation, also without style.
 * A summary is ASCII, so it cannot contain these quotation marks.
 */
export function quotation(summary: string): Html {
  return html`<blockquote lang="" dir="auto">“${summary}”</blockquote>`
}

/** Until when the question can be answered, in UTC and in minutes: the page has no script, so it cannot show the time of the user's place. */
export function openUntil(until: number, now: number, reader: Reader): Html {
  const closes = new Date(until * 1000).toISOString()
  const time = html`<time datetime="${closes}">${closes.slice(11, 16)} UTC</time>`
  return html`<p class="fine with-symbol">${symbol('clock')}<span>${fill(reader.texts.login.openUntil, { time })} <span class="aside">${timeLeft(until, now, reader)}</span></span></p>`
}
