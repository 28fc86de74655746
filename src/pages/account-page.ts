import { accountTexts as words } from './account-texts.ts'
import { type Html, html } from './html.ts'
import { layout, slip } from './layout.ts'
import { appName, permissions, type Scope } from './parts.ts'
import { symbol } from './symbols.ts'
import { day, fromNow } from './times.ts'
import { displayName, fill, fillPlain } from './words.ts'

/**
 * The account page: which apps may do what for this wallet, and where it is signed in; each with the way to end it.
 *
 * Plain forms, no script. All times in epoch seconds.
 */
export type AccountView = {
  /** `0xf39F…2266`, never the whole address. */
  walletShort: string
  /** Who was vouched for has signed nothing here, and sees no receipts. */
  signedIn: 'signature' | 'vouched'
  apps: ConnectedApp[]
  sessions: OpenSession[]
  /** What was just done, said at the top of the page. */
  done?: 'app_ended' | 'session_ended' | 'others_ended' | undefined
  now: number
}

export type ConnectedApp = {
  clientId: string
  name: string
  host: string
  scopes: Scope[]
  since: number
  until: number
  lastUsed: number
  receipts: ReceiptLink[]
}

/** `id` stands in the receipt's address, `/account/receipts/{id}`. */
export type ReceiptLink = { id: string; issuedAt: number; until: number; withdrawn: boolean }

/** `handle` names the session in a form; it is not the session's id. */
export type OpenSession = { handle: string; current: boolean; since: number; lastSeen: number; until: number; chainId: number }

export function accountPage(view: AccountView): string {
  const { apps, sessions, now } = view
  return layout({
    title: words.title,
    slip: html`<div class="stack">
${slip({
  head: html`<h1>${words.title}</h1>
<p class="lead">${words.intro}</p>`,
  body: html`${view.done && html`<p class="message" role="status">${words.done[view.done]}</p>`}
<div class="row"><code class="account">${view.walletShort}</code>
${button({ action: '/account/sign-out', id: 'sign-out', label: words.signOut })}</div>`,
})}
<section class="stack" aria-labelledby="apps-title">
<h2 id="apps-title">${words.apps}</h2>
${view.signedIn === 'vouched' && html`<p class="message">${words.vouched}</p>`}
${apps.length === 0 && html`<p class="lead" id="no-apps">${words.noApps}</p>`}
${apps.map((app) => appSlip(app, view))}
</section>
<section class="stack" aria-labelledby="sessions-title">
<h2 id="sessions-title">${words.sessions}</h2>
${sessionsSlip(sessions, now)}
</section>
<section class="card" aria-labelledby="end-title">
<h2 id="end-title">${words.endEverything.offer}</h2>
<p>${words.endEverything.offerText}</p>
<p class="actions"><a class="button quiet" id="end-everything" href="/account/end-everything">${words.endEverything.link}</a></p>
</section>
</div>`,
  })
}

function appSlip(app: ConnectedApp, { signedIn, now }: AccountView): Html {
  const name = displayName(app.name) || app.host
  return slip({
    head: html`${appName({ heading: html`<h3><bdi>${name}</bdi></h3>`, app: name, host: app.host })}
${permissions({ scopes: app.scopes, app: name, some: words.may, none: words.mayNothing, level: 4 })}`,
    body: html`<dl class="facts">
${fact(words.since, day(app.since))}
${fact(words.until, html`${day(app.until)} <span class="aside">${fromNow(app.until, now)}</span>`)}
${fact(words.lastUsed, fromNow(app.lastUsed, now))}
</dl>
${signedIn === 'signature' && receiptsFold(app.receipts, now)}
${button({ action: '/account/apps/end', field: ['client_id', app.clientId], label: fill(words.end, { app: name }) })}`,
  })
}

function receiptsFold(receipts: ReceiptLink[], now: number): Html {
  if (receipts.length === 0) return html`<p class="fine">${words.noReceipt}</p>`
  const { one, many } = words.receipts
  return html`<details class="fold">
<summary>${receipts.length === 1 ? one : fillPlain(many, { n: String(receipts.length) })}</summary>
<ul class="rows">
${receipts.map((receipt) => receiptRow(receipt, now))}
</ul>
</details>`
}

function receiptRow({ id, issuedAt, until, withdrawn }: ReceiptLink, now: number): Html {
  const state = withdrawn ? words.withdrawn : until <= now && words.over
  const path = `/account/receipts/${encodeURIComponent(id)}`
  return html`<li class="row">
<span>${fill(words.signed, { when: day(issuedAt) })}, ${fill(words.runsUntil, { day: day(until) })}${state && html` <span class="tag">${state}</span>`}</span>
<span class="links"><a href="${path}">${words.view}</a> <a href="${path}.json" download>${words.download}</a></span>
</li>`
}

function sessionsSlip(sessions: OpenSession[], now: number): Html {
  const others = sessions.some(({ current }) => !current)
  return html`<div class="card">
<ul class="rows">
${sessions.map((session) => sessionRow(session, now))}
</ul>
${others && button({ action: '/account/sessions/end-others', id: 'end-others', label: words.endOthers })}
</div>`
}

function sessionRow({ handle, current, since, lastSeen, until, chainId }: OpenSession, now: number): Html {
  const chain = chainId === 1 ? words.ethereum : fillPlain(words.chain, { id: String(chainId) })
  return html`<li class="row">
<div>
<h3>${current ? words.here : words.elsewhere}${current && html` ${symbol('tick')}`}</h3>
<p class="fine">${fill(words.seen, { when: fromNow(lastSeen, now) })}. ${fill(words.signedIn, { when: fromNow(since, now) })}, ${chain}, ${fill(words.endsBy, { day: day(until) })}.</p>
</div>
${!current && button({ action: '/account/sessions/end', field: ['session', handle], label: words.endSession })}
</li>`
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`
}

/** A form that is one button: what it does needs no more words, and a link would be followed by whatever prefetches. */
function button(form: { action: string; field?: [name: string, value: string]; id?: string; label: string | Html }): Html {
  const { action, field, id, label } = form
  return html`<form method="post" action="${action}">
${field && html`<input type="hidden" name="${field[0]}" value="${field[1]}">`}
<button class="button quiet"${id && html` id="${id}"`}>${label}</button>
</form>`
}
