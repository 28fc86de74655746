import type { Limit } from '@grantor/protocol/limit'
import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import { NOT_SIGNED } from '../../protocol/wallet/server-word.ts'
import { type ApprovalWords, actionInWords } from '../approval/approval-page.ts'
import { type Html, html } from '../html.ts'
import { styleElement } from '../inline.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { limitList } from '../limit-words.ts'
import { appHeading, permissions, type Scope, scopeWords } from '../parts.ts'
import { translationOf } from '../signed-text.ts'
import { symbol } from '../symbols.ts'
import { day } from '../times.ts'
import { appTitle, fill, fillPlain } from '../words.ts'
import { drawRows, limitTable, type ShownDraw, type ShownLimit } from './limit-rows.ts'

/** One signed consent, for its owner: its content, the text byte for byte, and how to check it without this service. */
export type ReceiptView = ClientPlace & {
  /** As in the page's address, `/account/receipts/{id}`. */
  id: string
  clientName: string
  scopes: Scope[]
  resources: string[]
  /** Epoch seconds. */
  issuedAt: number
  /** Epoch seconds. */
  until: number
  withdrawn: boolean
  /** Exactly as it was signed. */
  message: string
  signature: string
  chainId: number
  /** `0xf39F…2266`. */
  walletShort: string
  /** What the wallet signed of a limit; absent without a limit. */
  limit?: { scope: Scope; limit: Limit } | undefined
  /** What the service counted of the limit; `unknown` if it has no count any more. */
  counted?: ShownCount | 'unknown' | undefined
  /** Epoch seconds. */
  now: number
}

/** One page of the uses, the newest first. `more`: the `before` of the next page. `isOver`: nothing can be used any more. */
export type ShownCount = ShownLimit & { draws: ShownDraw[]; isFirst: boolean; more: number | null; isOver: boolean }

export function receiptPage(receipt: ReceiptView, reader: Reader): string {
  const words = reader.texts.account.receipt
  const app = appTitle(receipt, reader.texts)
  return layout({
    reader,
    hasChooser: true,
    title: fillPlain(words.title, { app }),
    ...(receipt.counted && { extras: styleElement('account') }),
    slip: slip({
      head: html`${appHeading({ sentence: words.title, app, place: receipt }, reader)}
<p class="lead">${words.intro}</p>
${permissions({ scopes: receipt.scopes, app, some: words.allowed, none: words.allowedNothing }, reader)}
${receipt.limit && signedLimit(receipt.limit, reader)}
<dl class="facts">
${receipt.resources.length > 0 && fact(words.resources, html`${receipt.resources.map((resource) => html`<code>${resource}</code> `)}`)}
${fact(words.wallet, html`<code class="account">${receipt.walletShort}</code>${reader.texts.comma}${chainName(receipt.chainId, reader)}`)}
${fact(words.signed, day(receipt.issuedAt, reader))}
${fact(words.until, day(receipt.until, reader))}
${fact(words.state, state(receipt, reader))}
</dl>`,
      body: html`${proofOf(receipt, reader)}
${receipt.counted && countedPart(receipt.counted, receipt.id, reader)}
${backLink(reader)}`,
    }),
  })
}

function signedLimit({ scope, limit }: NonNullable<ReceiptView['limit']>, reader: Reader): Html {
  return html`<h2 class="label">${reader.texts.account.limit.signed}</h2>
<p>${scopeWords(scope, reader)}</p>
${limitList(limit, reader)}`
}

/** The word of the service, apart from the text that the wallet signed. */
function countedPart(counted: ShownCount | 'unknown', id: string, reader: Reader): Html {
  const words = reader.texts.account.limit
  const path = `/account/receipts/${encodeURIComponent(id)}`
  return html`<section class="counted" id="uses" aria-labelledby="uses-title">
<h2 id="uses-title">${words.counted}</h2>
<p>${fill(words.countedHint, { name: html`<code>${NOT_SIGNED}</code>` })}</p>
${counted === 'unknown' ? html`<p>${words.gone}</p>` : usesOf(counted, path, reader)}
</section>`
}

function usesOf({ draws, isFirst, more, isOver, ...use }: ShownCount, path: string, reader: Reader): Html {
  const words = reader.texts.account.limit
  return html`${limitTable(isOver ? { ...use, until: null } : use, reader)}
${isOver && html`<p>${words.ended}</p>`}
${draws.length === 0 && isFirst ? html`<p>${words.none}</p>` : drawRows(draws, use.limit, reader)}
${more !== null && html`<p class="after"><a href="${path}?before=${more}#uses" id="older" rel="next">${words.older}</a></p>`}`
}

/** One action that the wallet approved, for its owner. */
export type ApprovalReceiptView = Proof &
  Pick<ApprovalWords, 'summary' | 'api'> & {
    /** As the text names it. */
    clientName: string
    scope: Scope
    /** Epoch seconds. */
    issuedAt: number
    chainId: number
    walletShort: string
  }

export function approvalReceiptPage(receipt: ApprovalReceiptView, reader: Reader): string {
  const words = reader.texts.account.receipt
  const app = receipt.clientName || reader.texts.anApp
  return layout({
    reader,
    hasChooser: true,
    title: fillPlain(words.approvedTitle, { app }),
    slip: slip({
      head: html`<h1>${fill(words.approvedTitle, { app })}</h1>
<p class="lead">${words.intro}</p>
${actionInWords(receipt, reader)}
<dl class="facts">
${fact(reader.texts.approve.permission, scopeWords(receipt.scope, reader))}
${fact(words.wallet, html`<code class="account">${receipt.walletShort}</code>${reader.texts.comma}${chainName(receipt.chainId, reader)}`)}
${fact(words.signed, day(receipt.issuedAt, reader))}
</dl>`,
      body: html`${proofOf(receipt, reader)}
${backLink(reader)}`,
    }),
  })
}

/** `id`: as in the page's address. `message`: exactly as it was signed. */
type Proof = { id: string; message: string; signature: string }

/** The text byte for byte, and how to check it without this service. */
function proofOf(receipt: Proof, reader: Reader): Html {
  const words = reader.texts.account.receipt
  const file = `grantor-receipt-${receipt.id}.json`
  return html`<h2>${words.text}</h2>
<p>${words.textHint}</p>
<pre class="paper" id="message" role="group" aria-label="${words.text}" lang="en" tabindex="0">
${receipt.message}</pre>
${translationOf(receipt.message, reader)}
<h2>${words.signature}</h2>
<p class="paper" id="signature">${receipt.signature}</p>
<p class="actions"><a class="button" id="download" href="/account/receipts/${encodeURIComponent(receipt.id)}.json" download="${file}">${words.download}</a></p>
<details class="fold">
<summary>${words.check}</summary>
<ol>
<li>${words.checkFile}</li>
<li>${words.checkCommand}<br><code>grantor verify-receipt ${file}</code></li>
<li>${fill(words.checkPage, { page: html`<code>docs/verify-receipt.html</code>` })}</li>
</ol>
</details>`
}

function backLink({ texts }: Reader): Html {
  return html`<p class="after"><a href="/account" id="back">${texts.account.receipt.back}</a></p>`
}

function state({ withdrawn, until, now }: ReceiptView, reader: Reader): Html {
  const words = reader.texts.account.receipt
  if (withdrawn) return html`${symbol('stop')} ${words.withdrawn}`
  if (until <= now) return html`${symbol('wait')} ${fill(words.over, { day: day(until, reader) })}`
  return html`${symbol('done')} ${words.living}`
}

function chainName(chainId: number, { texts }: Reader): string {
  return chainId === 1 ? texts.account.ethereum : fillPlain(texts.account.chain, { id: String(chainId) })
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`
}
