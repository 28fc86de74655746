import { quotation } from '../approval/approval-page.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { day, dayAmong } from '../times.ts'
import { fill } from '../words.ts'

/** The rows of what a wallet signed: receipts of consents, and approved actions. All times in epoch seconds. */

/** `id` is part of the receipt's address, `/account/receipts/{id}`. */
export type ReceiptLink = { id: string; issuedAt: number; until: number; withdrawn: boolean }

/** `id`: that of the receipt. `clientId` and `clientName`: the app in the signed text. */
export type ShownApproval = {
  id: string
  clientId: string
  clientName: string
  summary: string
  api: string
  issuedAt: number
}

/** The number of rows that stand above the fold. */
const FOLDED_AT = 3

type FoldedRows = { rows: Html[]; state?: 'open' | 'closed'; more: Html | false; others?: string }

/** The first rows, and a fold with the others and the link to the next page. `others`: the words for the other rows, unless these are receipts. */
export function foldedRows(given: FoldedRows, reader: Reader): Html {
  const { rows, state, more, others = reader.texts.account.moreReceipts } = given
  const folded = rows.slice(FOLDED_AT)
  return html`<ul class="rows">
${rows.slice(0, FOLDED_AT)}
</ul>
${folded.length === 0 ? more : fold({ summary: others, state, body: html`<ul class="rows">\n${folded}\n</ul>\n${more}` })}`
}

export function fold({ summary, state, body }: { summary: string; state?: 'open' | 'closed' | undefined; body: Html }): Html {
  return html`<details class="fold"${state === 'open' && html` open`}>
<summary>${summary}</summary>
${body}
</details>`
}

export function receiptRows(receipts: ReceiptLink[], now: number, reader: Reader): Html[] {
  const { account: words, comma } = reader.texts
  const signed = receipts.map(({ issuedAt }) => issuedAt)
  return receipts.map(({ id, issuedAt, until, withdrawn }) => {
    const state = withdrawn ? words.withdrawn : until <= now && words.over
    return html`<li class="row">
<span>${fill(words.signed, { when: dayAmong(issuedAt, signed, reader) })}${comma}${fill(words.runsUntil, { day: day(until, reader) })}${state && html` <span class="tag">${state}</span>`}</span>
${receiptLinks(id, reader)}
</li>`
  })
}

/** `app`: whether the rows name the app, because the list is of several apps. */
export function approvalRows(approvals: ShownApproval[], app: 'named' | 'known', reader: Reader): Html[] {
  const { account: words, comma, stop } = reader.texts
  const signed = approvals.map(({ issuedAt }) => issuedAt)
  return approvals.map(
    ({ id, clientName, summary, api, issuedAt }) => html`<li class="row">
<div class="action">${quotation(summary)}
<p class="fine"><bdi>${api}</bdi>${app === 'named' && clientName && html`${comma}<bdi>${clientName}</bdi>`}${stop}${fill(words.signed, { when: dayAmong(issuedAt, signed, reader) })}</p></div>
${receiptLinks(id, reader)}
</li>`,
  )
}

function receiptLinks(id: string, { texts: { account: words } }: Reader): Html {
  const path = `/account/receipts/${encodeURIComponent(id)}`
  return html`<span class="links"><a href="${path}">${words.view}</a> <a href="${path}.json" download>${words.download}</a></span>`
}
