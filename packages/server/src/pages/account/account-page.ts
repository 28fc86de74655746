import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import { openUntil, quotation } from '../approval/approval-page.ts'
import { browserTitle } from '../browser-title.ts'
import { type Html, html } from '../html.ts'
import { styleElement } from '../inline.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { accountLabel, appName, permissions, type Scope, type ShownAccount } from '../parts.ts'
import { day, fromNow } from '../times.ts'
import { appTitle, countOf, fill, fillPlain } from '../words.ts'
import { limitTable, type ShownLimit } from './limit-rows.ts'
import { approvalRows, fold, foldedRows, type ReceiptLink, receiptRows, type ShownApproval } from './signed-rows.ts'

/**
 * The account page: which apps may do what for this wallet, and where the wallet is signed in, each with a button that
 * ends it.
 *
 * Plain forms, no script. All times in epoch seconds.
 */
export type AccountView = ShownAccount & {
  /** `vouched`: the wallet signed nothing for this session, so the page shows no receipts. */
  signedIn: 'signature' | 'vouched'
  /** What APIs ask now, the newest first. */
  waiting?: ShownWaiting[] | undefined
  /** What the wallet approved, the newest first. An approval is shown with its app if the app is on the page. */
  approved?: ShownList<ShownApproval> | undefined
  /** Absent on a later page of the other list. */
  apps?: ShownList<ShownApp> | undefined
  /** The receipts of apps that have no access any more. */
  ended?: ShownList<ShownReceipt> | undefined
  sessions?: ShownList<OpenSession> | undefined
  /** The action that was just done. The list reports the action in place of the row `at`. */
  done?: 'app_ended' | 'session_ended' | 'others_ended' | undefined
  at?: number
  /** The cursor of this page, to which an action returns; absent on the first page. */
  page?: string | undefined
  now: number
}

/** One page of a list. `more` is the cursor of the next page; null on the last page. */
type ShownList<Row> = { rows: Row[]; more: string | null }

export type ShownReceipt = ReceiptLink & ClientPlace & { clientId: string; name: string }

/** `href`: the page on which the user answers. `summary`: the words of the API, whose host is `api`. */
export type ShownWaiting = ClientPlace & { clientName: string; href: string; summary: string; api: string; until: number }

export type ShownApp = ClientPlace & {
  clientId: string
  name: string
  /** the path of the logo that an operator uploaded */
  logo?: string | undefined
  scopes: Scope[]
  since: number
  until: number
  /** The last sign-in, exchange or refresh. The use of an access token is not stored. */
  lastRenewed: number
  /** `receiptId`: the receipt with the uses; null if the user may see no receipt. */
  limits: (ShownLimit & { receiptId: string | null })[]
  receipts: ReceiptLink[]
  moreReceipts: string | null
}

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
    extras: styleElement('account'),
    slip: html`<div class="stack account-lists">
${slip({
  head: html`<h1>${words.title}</h1>
<p class="lead">${words.intro}</p>`,
  body: html`<div class="row">${accountLabel(view)}
${button({ action: '/account/sign-out', id: 'sign-out', label: words.signOut })}</div>`,
})}
${view.waiting && waitingSection(view.waiting, now, reader)}
${apps && appsSection(apps, view, reader)}
${view.approved && approvedSection(view.approved, apps, reader)}
${view.signedIn === 'signature' && ended && endedSection(ended, now, reader)}
${sessions && sessionsSection(sessions, view, reader)}
${(!apps || !sessions) && html`<p class="after"><a href="/account" id="back">${words.back}</a></p>`}
<section class="card" aria-labelledby="end-title">
<h2 id="end-title">${words.endEverything.offer}</h2>
<p>${words.endEverything.offerText}</p>
<p class="actions"><a class="button quiet" id="end-everything" href="/account/end-everything">${words.endEverything.link}</a></p>
</section>
</div>`,
  })
}

/** The redirect leads to `#done`, so that the browser scrolls to the message and a screen reader begins there. */
function doneMessage({ done }: AccountView, { texts }: Reader): Html | false {
  return !!done && html`<p class="message" role="status" id="done" tabindex="-1">${texts.account.done[done]}</p>`
}

function waitingSection(rows: ShownWaiting[], now: number, reader: Reader): Html | false {
  const words = reader.texts.account
  if (rows.length === 0) return false
  const row = (asked: ShownWaiting) => html`<li class="row action">
<p>${fill(words.waitingText, { api: asked.api, app: appTitle(asked, reader.texts) })}</p>
${quotation(asked.summary)}
${openUntil(asked.until, now, reader)}
<p class="actions"><a class="button" href="${asked.href}">${words.answer}</a></p>
</li>`
  return html`<section class="stack" aria-labelledby="waiting-title">
<h2 id="waiting-title">${words.waiting}</h2>
<div class="card"><ul class="rows">
${rows.map(row)}
</ul></div>
</section>`
}

/** What was approved for apps that are not on the page, because they have no access any more, or are on another page. */
function approvedSection({ rows, more }: ShownList<ShownApproval>, apps: AccountView['apps'], reader: Reader): Html | false {
  const words = reader.texts.account
  const others = rows.filter(({ clientId }) => !apps?.rows.some((app) => app.clientId === clientId))
  if (others.length === 0 && more === null) return false
  const state = apps ? 'closed' : 'open'
  return html`<section class="stack" aria-labelledby="approved-title">
<h2 id="approved-title">${words.approved}</h2>
<div class="card">
${foldedRows({ rows: approvalRows(others, 'named', reader), state, more: false }, reader)}
${moreLink({ id: 'more-approved', page: more, label: words.moreReceipts })}
</div>
</section>`
}

function appsSection({ rows, more }: ShownList<ShownApp>, view: AccountView, reader: Reader): Html {
  const words = reader.texts.account
  const done = view.done === 'app_ended' && doneMessage(view, reader)
  return html`<section class="stack" aria-labelledby="apps-title">
<h2 id="apps-title">${words.apps}</h2>
${view.signedIn === 'vouched' && html`<p class="message">${words.vouched}</p>`}
${rows.length === 0 && done}
${rows.length === 0 && more === null && html`<p class="lead" id="no-apps">${words.noApps}</p>`}
${
  rows.length > 0 &&
  html`<div class="card"><table class="apps">
<thead><tr><td></td>${[words.may, words.since, words.lastRenewed, words.until].map((head) => html`<th scope="col">${head}</th>`)}<td></td></tr></thead>
${rowsAndMessage({
  rows: rows.map((_, at) => appRows(at, view, reader)),
  at: view.at,
  message: done && html`<tbody><tr><td colspan="6">${done}</td></tr></tbody>`,
})}
</table></div>`
}
${moreLink({ id: 'more-apps', page: more, label: words.moreApps })}
</section>`
}

/** The message takes the place of the row that was ended. */
function rowsAndMessage({ rows, at = 0, message }: { rows: Html[]; at: number | undefined; message: Html | false }): Html {
  return html`${rows.slice(0, at)}${message}${rows.slice(at)}`
}

/** One app: a row with the facts, and a row with what the wallet signed for the app. */
function appRows(at: number, view: AccountView, reader: Reader): Html {
  const words = reader.texts.account
  const app = view.apps?.rows[at] as ShownApp
  const name = appTitle({ ...app, clientName: app.name }, reader.texts)
  const cell = (label: string, value: Html): Html => html`<td><span class="cell-label">${label}</span> <span>${value}</span></td>`
  return html`<tbody>
<tr>
<th scope="row" id="app-${at}">${appName({ heading: html`<h3><bdi>${name}</bdi></h3>`, app: name, place: app, logo: app.logo }, reader)}</th>
<td>${permissions({ scopes: app.scopes, app: name, some: words.may, none: words.mayNothing, level: 4 }, reader)}</td>
${cell(words.since, day(app.since, reader))}
${cell(words.lastRenewed, fromNow(app.lastRenewed, view.now, reader))}
${cell(words.until, html`${day(app.until, reader)} <span class="aside">${fromNow(app.until, view.now, reader)}</span>`)}
<td><details class="ending">
<summary class="button quiet" aria-describedby="app-${at}">${words.endOffer}</summary>
<div class="card">
<p>${words.endText}</p>
${button({ action: '/account/apps/end', fields: { client_id: app.clientId, ...placeOf(at, view) }, label: fill(words.end, { app: name }), style: 'warning' })}
</div>
</details></td>
</tr>
${app.limits.length > 0 && html`<tr><td colspan="6">${limitsOfApp(app, reader)}</td></tr>`}
${view.signedIn === 'signature' && html`<tr><td colspan="6"><div class="signed">${signedForApp(app, view, reader)}</div></td></tr>`}
</tbody>`
}

/** The uses are on the page of the receipt, so this page reads none. */
function limitsOfApp({ limits }: ShownApp, reader: Reader): Html {
  const words = reader.texts.account.limit
  const row = ({
    receiptId,
    ...limit
  }: ShownApp['limits'][number]): Html => html`<li class="row"><div>${limitTable(limit, reader)}
${receiptId !== null && html`<p class="fine"><a href="/account/receipts/${encodeURIComponent(receiptId)}#uses">${words.link}</a></p>`}</div></li>`
  return foldedRows({ rows: limits.map(row), others: words.others, more: false }, reader)
}

function placeOf(at: number, { page }: AccountView): Record<string, string> {
  return { at: String(at), ...(page !== undefined && { cursor: page }) }
}

function signedForApp(app: ShownApp, { apps, approved, sessions, now }: AccountView, reader: Reader): Html {
  const words = reader.texts.account
  const { receipts, moreReceipts } = app
  // A page of older receipts has one app, and the user opened it for the receipts.
  const state = !sessions && apps?.rows.length === 1 ? 'open' : 'closed'
  const more = moreLink({ page: moreReceipts, label: words.moreReceipts })
  const approvals = approved?.rows.filter(({ clientId }) => clientId === app.clientId) ?? []
  return html`${
    receipts.length === 0
      ? html`<p class="fine">${words.noReceipt}</p>`
      : fold({
          summary: countOf(moreReceipts === null ? words.receipts : words.newestReceipts, receipts.length, reader),
          state,
          body: foldedRows({ rows: receiptRows(receipts, now, reader), state, more }, reader),
        })
  }
${approvals.length > 0 && fold({ summary: words.approved, body: foldedRows({ rows: approvalRows(approvals, 'known', reader), more: false }, reader) })}`
}

/** The receipts by app. The user can still read and download what was signed. */
function endedSection({ rows, more }: ShownList<ShownReceipt>, now: number, reader: Reader): Html | false {
  const words = reader.texts.account
  if (rows.length === 0 && more === null) return false
  const byApp = Map.groupBy(rows, ({ clientId }) => clientId)
  return html`<section class="stack" aria-labelledby="ended-title">
<h2 id="ended-title">${words.ended}</h2>
<div class="card">
${[...byApp.values()].map((own) => own[0] && endedApp(own[0], receiptRows(own, now, reader), reader))}
${moreLink({ id: 'more-ended', page: more, label: words.moreReceipts })}
</div>
</section>`
}

function endedApp(app: ShownReceipt, rows: Html[], reader: Reader): Html {
  return html`<h3><bdi>${appTitle({ ...app, clientName: app.name }, reader.texts)}</bdi></h3>
${foldedRows({ rows, more: false }, reader)}`
}

function sessionsSection({ rows, more }: ShownList<OpenSession>, view: AccountView, reader: Reader): Html {
  const words = reader.texts.account
  const others = rows.some(({ current }) => !current)
  const done = view.done !== 'app_ended' && doneMessage(view, reader)
  return html`<section class="stack" aria-labelledby="sessions-title">
<h2 id="sessions-title">${words.sessions}</h2>
<div class="card">
<ul class="rows">
${rowsAndMessage({
  rows: rows.map((_, at) => sessionRow(at, view, reader)),
  at: view.at,
  message: done && html`<li>${done}</li>`,
})}
</ul>
${moreLink({ id: 'more-sessions', page: more, label: words.moreSessions })}
${others && button({ action: '/account/sessions/end-others', id: 'end-others', label: words.endOthers })}
</div>
</section>`
}

function sessionRow(at: number, view: AccountView, reader: Reader): Html {
  const session = view.sessions?.rows[at] as OpenSession
  const { handle, current, browser, since, lastSeen, until, chainId } = session
  const { account: words, comma, stop } = reader.texts
  const chain = chainId === 1 ? words.ethereum : fillPlain(words.chain, { id: String(chainId) })
  const seen = fill(words.seen, { when: fromNow(lastSeen, view.now, reader) })
  const signedIn = fill(words.signedIn, { when: fromNow(since, view.now, reader) })
  const title =
    current && browser === ''
      ? words.here
      : html`${browserTitle(browser, reader)}${current && html` <span class="tag here">${words.here}</span>`}`
  return html`<li class="row">
<div>
<h3>${title}</h3>
<p class="fine">${seen}${stop}${signedIn}${comma}${chain}${comma}${fill(words.endsBy, { day: day(until, reader) })}${stop.trim()}</p>
</div>
${!current && button({ action: '/account/sessions/end', fields: { session: handle, ...placeOf(at, view) }, label: words.endSession })}
</li>`
}

/** A link to the next page of a list, if there is one. */
function moreLink({ id, page, label }: { id?: string; page: string | null; label: string }): Html | false {
  if (page === null) return false
  return html`<p class="after"><a href="/account?page=${encodeURIComponent(page)}"${id && html` id="${id}"`} rel="next">${label}</a></p>`
}

type Form = {
  action: string
  fields?: Record<string, string>
  id?: string
  label: string | Html
  /** `warning`: the last question before access ends. */
  style?: 'quiet' | 'warning'
}

/** A form with one button. A link would be unsafe, because programs that prefetch would follow it. */
function button({ action, fields = {}, id, label, style = 'quiet' }: Form): Html {
  return html`<form method="post" action="${action}">
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="button ${style}"${id && html` id="${id}"`}>${label}</button>
</form>`
}
