import type { Limit } from '@grantor/protocol/limit'
import { writeAmount } from '../../protocol/wallet/limit-words.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { type LimitNumber, limitNumbers } from '../limit-words.ts'
import { type Scope, scopeWords } from '../parts.ts'
import { minute } from '../times.ts'
import { fill } from '../words.ts'

/** How much an app may use of a limit, and what it used. Times in epoch seconds, amounts in the smallest step of the unit. */

type Numbers = { uses: number; amount: number | null }

/** `until`: the end of the period; null if the limit has no period. */
export type ShownLimit = { scope: Scope; limit: Limit; used: Numbers; left: Numbers; until: number | null }

/** `returned`: what the API gave back, 0 for a use without an amount; null if nothing. */
export type ShownDraw = { number: number; at: number; amount: number | null; returned: number | null }

/** A table: what was signed, used, and is left. In a narrow place each number has its words beside it. */
export function limitTable({ scope, limit, used, left, until }: ShownLimit, reader: Reader): Html {
  const words = reader.texts.account.limit
  const cell = (label: string, value: string): Html =>
    value === '' ? html`<td></td>` : html`<td><span class="cell-label">${label}</span> <bdi>${value}</bdi></td>`
  const row = ({ name, label, value }: LimitNumber): Html => html`<tr><th scope="row">${label}</th>
${cell(words.signed, value)}${cell(words.used, numberOf(used, name, limit))}${cell(words.left, numberOf(left, name, limit))}</tr>`
  return html`<div class="limit-use"><table>
<caption>${scopeWords(scope, reader)}</caption>
<thead><tr><td></td>${[words.signed, words.used, words.left].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${limitNumbers(limit, reader).map(row)}</tbody>
</table></div>
${until !== null && html`<p class="fine">${fill(words.until, { when: minute(until, reader) })}</p>`}`
}

/** The most of one use is not counted. */
function numberOf({ uses, amount }: Numbers, name: LimitNumber['name'], limit: Limit): string {
  if (name === 'uses') return String(uses)
  return name === 'amount' && amount !== null ? writeAmount(limit, amount) : ''
}

export function drawRows(draws: ShownDraw[], limit: Limit, reader: Reader): Html {
  const { account, comma } = reader.texts
  const words = account.limit
  const write = (amount: number): string => `${writeAmount(limit, amount)} ${limit.unit ?? ''}`.trim()
  const givenBack = ({ amount, returned }: ShownDraw): Html | false => {
    if (returned === null) return false
    return html` <span class="tag">${amount === null ? words.returnedUse : fill(words.returned, { amount: write(returned) })}</span>`
  }
  const row = (
    draw: ShownDraw,
  ): Html => html`<li class="row"><span>${fill(words.use, { n: String(draw.number) })}${comma}${minute(draw.at, reader)}</span>
<span>${draw.amount !== null && html`<bdi>${write(draw.amount)}</bdi>`}${givenBack(draw)}</span></li>`
  return html`<ul class="rows draws">
${draws.map(row)}
</ul>`
}
