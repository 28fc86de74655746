import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import { browserTitle } from '../browser-title.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { accountLabel, appName, permissions, type Scope, type ShownAccount } from '../parts.ts'
import { symbol } from '../symbols.ts'
import { day, fromNow } from '../times.ts'
import { appTitle, countOf, fill, fillPlain } from '../words.ts'

/**
 * The account page: which apps may do what for this wallet, and where the wallet is signed in, each with a button that
 * ends it.
 *
 * Plain forms, no script. All times in epoch seconds.
 */
export type AccountView = ShownAccount & {
  /** `vouched`: the wallet signed nothing for this session, so the page shows no receipts. */
  signedIn: 'signature' | 'vouched'
  /** Absent on a later page of the other list. */
  apps?: ShownList<ShownApp> | undefined
  /** The receipts of apps that have no access any more. */
  ended?: ShownList<ShownReceipt> | undefined
  sessions?: ShownList<OpenSession> | undefined
  /** The action that was just done, reported at the top of the page. */
  done?: 'app_ended' | 'session_ended' | 'others_ended' | undefined
  now: number
}

/** One page of a list. `more` is the cursor of the next page; null on the last page. */
type ShownList<Row> = { rows: Row[]; more: string | null }

export type ShownReceipt = ReceiptLink & ClientPlace & { name: string }

export type ShownApp = ClientPlace & {
  clientId: string
  name: string
  /** the path of the logo that an operator uploaded */
  logo?: string | undefined
  scopes: Scope[]
  since: number
  until: number
  lastUsed: number
  receipts: ReceiptLink[]
  moreReceipts: string | null
}

/** `id` is part of the receipt's address, `/account/receipts/{id}`. */
export type ReceiptLink = { id: string; issuedAt: number; until: number; withdrawn: boolean }

export type OpenSession = {
  /** Names the session in a form; it is not the session's id. */
  handle: string
  current: boolean
  /** Such as `Firefox/Windows`; empty if unknown. */
  browser: string
  since: number
  lastSeen: number
  until: number
  chainId: number
}

export function accountPage(view: AccountView, reader: Reader): string {
  const words = reader.texts.account
  const { apps, ended, sessions, now } = view
  return layout({
    reader,
    hasChooser: true,
    title: words.title,
    slip: html`<div class="stack">
${slip({
  head: html`<h1>${words.title}</h1>
<p class="lead">${words.intro}</p>`,
  body: html`${view.done && html`<p class="message" role="status">${words.done[view.done]}</p>`}
<div class="row">${accountLabel(view)}
${button({ action: '/account/sign-out', id: 'sign-out', label: words.signOut })}</div>`,
})}
${apps && appsSection(apps, view, reader)}
${view.signedIn === 'signature' && ended && endedSection(ended, now, reader)}
${sessions && sessionsSection(sessions, now, reader)}
${(!apps || !sessions) && html`<p class="after"><a href="/account" id="back">${words.back}</a></p>`}
<section class="card" aria-labelledby="end-title">
<h2 id="end-title">${words.endEverything.offer}</h2>
<p>${words.endEverything.offerText}</p>
<p class="actions"><a class="button quiet" id="end-everything" href="/account/end-everything">${words.endEverything.link}</a></p>
</section>
</div>`,
  })
}

function appsSection({ rows, more }: ShownList<ShownApp>, view: AccountView, reader: Reader): Html {
  const words = reader.texts.account
  return html`<section class="stack" aria-labelledby="apps-title">
<h2 id="apps-title">${words.apps}</h2>
${view.signedIn === 'vouched' && html`<p class="message">${words.vouched}</p>`}
${rows.length === 0 && more === null && html`<p class="lead" id="no-apps">${words.noApps}</p>`}
${rows.map((app) => appSlip(app, view, reader))}
${moreLink({ id: 'more-apps', page: more, label: words.moreApps })}
</section>`
}

function appSlip(app: ShownApp, { signedIn, now, apps, sessions }: AccountView, reader: Reader): Html {
  const words = reader.texts.account
  // A page of older receipts has one app, and the user opened it for the receipts.
  const isOpen = !sessions && apps?.rows.length === 1
  const name = appTitle({ ...app, clientName: app.name }, reader.texts)
  return slip({
    head: html`${appName({ heading: html`<h3><bdi>${name}</bdi></h3>`, app: name, place: app, logo: app.logo }, reader)}
${permissions({ scopes: app.scopes, app: name, some: words.may, none: words.mayNothing, level: 4 }, reader)}`,
    body: html`<dl class="facts">
${fact(words.since, day(app.since, reader))}
${fact(words.until, html`${day(app.until, reader)} <span class="aside">${fromNow(app.until, now, reader)}</span>`)}
${fact(words.lastUsed, fromNow(app.lastUsed, now, reader))}
</dl>
${signedIn === 'signature' && receiptsFold(app, { state: isOpen ? 'open' : 'closed', now }, reader)}
${button({ action: '/account/apps/end', field: ['client_id', app.clientId], label: fill(words.end, { app: name }) })}`,
  })
}

function receiptsFold(
  { receipts, moreReceipts }: ShownApp,
  { state, now }: { state: 'open' | 'closed'; now: number },
  reader: Reader,
): Html {
  const words = reader.texts.account
  if (receipts.length === 0) return html`<p class="fine">${words.noReceipt}</p>`
  const summary = moreReceipts === null ? words.receipts : words.newestReceipts
  return html`<details class="fold"${state === 'open' && html` open`}>
<summary>${countOf(summary, receipts.length, reader)}</summary>
<ul class="rows">
${receipts.map((receipt) => receiptRow(receipt, now, reader))}
</ul>
${moreLink({ page: moreReceipts, label: words.moreReceipts })}
</details>`
}

/** `app`: the name of the app, if the list is of several apps. */
function receiptRow(receipt: ReceiptLink & { app?: string }, now: number, reader: Reader): Html {
  const { id, issuedAt, until, withdrawn, app } = receipt
  const words = reader.texts.account
  const state = withdrawn ? words.withdrawn : until <= now && words.over
  const path = `/account/receipts/${encodeURIComponent(id)}`
  return html`<li class="row">
<span>${app && html`<strong><bdi>${app}</bdi></strong><br>`}${fill(words.signed, { when: day(issuedAt, reader) })}${reader.texts.comma}${fill(words.runsUntil, { day: day(until, reader) })}${state && html` <span class="tag">${state}</span>`}</span>
<span class="links"><a href="${path}">${words.view}</a> <a href="${path}.json" download>${words.download}</a></span>
</li>`
}

/** The user can still read and download what was signed. */
function endedSection({ rows, more }: ShownList<ShownReceipt>, now: number, reader: Reader): Html | false {
  const words = reader.texts.account
  if (rows.length === 0 && more === null) return false
  return html`<section class="stack" aria-labelledby="ended-title">
<h2 id="ended-title">${words.ended}</h2>
<div class="card">
<ul class="rows">
${rows.map((row) => receiptRow({ ...row, app: appTitle({ ...row, clientName: row.name }, reader.texts) }, now, reader))}
</ul>
${moreLink({ id: 'more-ended', page: more, label: words.moreReceipts })}
</div>
</section>`
}

function sessionsSection({ rows, more }: ShownList<OpenSession>, now: number, reader: Reader): Html {
  const words = reader.texts.account
  const others = rows.some(({ current }) => !current)
  return html`<section class="stack" aria-labelledby="sessions-title">
<h2 id="sessions-title">${words.sessions}</h2>
<div class="card">
<ul class="rows">
${rows.map((session) => sessionRow(session, now, reader))}
</ul>
${moreLink({ id: 'more-sessions', page: more, label: words.moreSessions })}
${others && button({ action: '/account/sessions/end-others', id: 'end-others', label: words.endOthers })}
</div>
</section>`
}

function sessionRow(session: OpenSession, now: number, reader: Reader): Html {
  const { handle, current, browser, since, lastSeen, until, chainId } = session
  const { account: words, comma, stop } = reader.texts
  const title = browserTitle(browser, reader)
  const chain = chainId === 1 ? words.ethereum : fillPlain(words.chain, { id: String(chainId) })
  return html`<li class="row">
<div>
<h3>${current ? html`${words.here} ${symbol('tick')}` : title}</h3>
<p class="fine">${current && browser && html`${title}${stop}`}${fill(words.seen, { when: fromNow(lastSeen, now, reader) })}${stop}${fill(words.signedIn, { when: fromNow(since, now, reader) })}${comma}${chain}${comma}${fill(words.endsBy, { day: day(until, reader) })}${stop.trim()}</p>
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
