import type { ClientPlace } from '../oauth/redirect-uri.ts'
import { accountTexts as words } from './account-texts.ts'
import { type Html, html } from './html.ts'
import { layout, slip } from './layout.ts'
import { appName, permissions, type Scope } from './parts.ts'
import { symbol } from './symbols.ts'
import { day, fromNow } from './times.ts'
import { appTitle, fill, fillPlain } from './words.ts'

/**
 * The account page: which apps may do what for this wallet, and where the wallet is signed in, each with a button that
 * ends it.
 *
 * Plain forms, no script. All times in epoch seconds.
 */
export type AccountView = {
  /** `0xf39F…2266`, never the whole address. */
  walletShort: string
  /** `vouched`: the wallet signed nothing for this session, so the page shows no receipts. */
  signedIn: 'signature' | 'vouched'
  /** Absent on a later page of the other list. */
  apps?: ListPage<ConnectedApp> | undefined
  sessions?: ListPage<OpenSession> | undefined
  /** The action that was just done, reported at the top of the page. */
  done?: 'app_ended' | 'session_ended' | 'others_ended' | undefined
  now: number
}

/** One page of a list. `more` is the cursor of the next page; null on the last page. */
type ListPage<Row> = { rows: Row[]; more: string | null }

export type ConnectedApp = ClientPlace & {
  clientId: string
  name: string
  scopes: Scope[]
  since: number
  until: number
  lastUsed: number
  receipts: ReceiptLink[]
  moreReceipts: string | null
}

/** `id` is part of the receipt's address, `/account/receipts/{id}`. */
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
${apps && appsSection(apps, view)}
${sessions && sessionsSection(sessions, now)}
${(!apps || !sessions) && html`<p class="after"><a href="/account" id="back">${words.back}</a></p>`}
<section class="card" aria-labelledby="end-title">
<h2 id="end-title">${words.endEverything.offer}</h2>
<p>${words.endEverything.offerText}</p>
<p class="actions"><a class="button quiet" id="end-everything" href="/account/end-everything">${words.endEverything.link}</a></p>
</section>
</div>`,
  })
}

function appsSection({ rows, more }: ListPage<ConnectedApp>, view: AccountView): Html {
  return html`<section class="stack" aria-labelledby="apps-title">
<h2 id="apps-title">${words.apps}</h2>
${view.signedIn === 'vouched' && html`<p class="message">${words.vouched}</p>`}
${rows.length === 0 && more === null && html`<p class="lead" id="no-apps">${words.noApps}</p>`}
${rows.map((app) => appSlip(app, view))}
${moreLink({ id: 'more-apps', page: more, label: words.moreApps })}
</section>`
}

function appSlip(app: ConnectedApp, { signedIn, now, apps, sessions }: AccountView): Html {
  // A page of older receipts has one app, and the user opened it for the receipts.
  const isOpen = !sessions && apps?.rows.length === 1
  const name = appTitle({ ...app, clientName: app.name })
  return slip({
    head: html`${appName({ heading: html`<h3><bdi>${name}</bdi></h3>`, app: name, place: app })}
${permissions({ scopes: app.scopes, app: name, some: words.may, none: words.mayNothing, level: 4 })}`,
    body: html`<dl class="facts">
${fact(words.since, day(app.since))}
${fact(words.until, html`${day(app.until)} <span class="aside">${fromNow(app.until, now)}</span>`)}
${fact(words.lastUsed, fromNow(app.lastUsed, now))}
</dl>
${signedIn === 'signature' && receiptsFold(app, isOpen ? 'open' : 'closed', now)}
${button({ action: '/account/apps/end', field: ['client_id', app.clientId], label: fill(words.end, { app: name }) })}`,
  })
}

function receiptsFold({ receipts, moreReceipts }: ConnectedApp, state: 'open' | 'closed', now: number): Html {
  if (receipts.length === 0) return html`<p class="fine">${words.noReceipt}</p>`
  const { one, many, newest } = words.receipts
  const summary = moreReceipts === null ? many : newest
  return html`<details class="fold"${state === 'open' && html` open`}>
<summary>${receipts.length === 1 ? one : fillPlain(summary, { n: String(receipts.length) })}</summary>
<ul class="rows">
${receipts.map((receipt) => receiptRow(receipt, now))}
</ul>
${moreLink({ page: moreReceipts, label: words.moreReceipts })}
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

function sessionsSection({ rows, more }: ListPage<OpenSession>, now: number): Html {
  const others = rows.some(({ current }) => !current)
  return html`<section class="stack" aria-labelledby="sessions-title">
<h2 id="sessions-title">${words.sessions}</h2>
<div class="card">
<ul class="rows">
${rows.map((session) => sessionRow(session, now))}
</ul>
${moreLink({ id: 'more-sessions', page: more, label: words.moreSessions })}
${others && button({ action: '/account/sessions/end-others', id: 'end-others', label: words.endOthers })}
</div>
</section>`
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

/** A link to the next page of a list, if there is one. */
function moreLink({ id, page, label }: { id?: string; page: string | null; label: string }): Html | false {
  if (page === null) return false
  return html`<p class="after"><a href="/account?page=${encodeURIComponent(page)}"${id && html` id="${id}"`} rel="next">${label}</a></p>`
}

/** A form with one button. A link would be unsafe, because programs that prefetch would follow it. */
function button(form: { action: string; field?: [name: string, value: string]; id?: string; label: string | Html }): Html {
  const { action, field, id, label } = form
  return html`<form method="post" action="${action}">
${field && html`<input type="hidden" name="${field[0]}" value="${field[1]}">`}
<button class="button quiet"${id && html` id="${id}"`}>${label}</button>
</form>`
}
