/** A limit in the language of the reader: names and numbers, the same on every page. The digits are those of the signed text. */
import type { Limit, Period } from '@grantor/protocol/limit'
import type { LimitChoice } from '../protocol/wallet/limit-choice.ts'
import { writeAmount } from '../protocol/wallet/limit-words.ts'
import { type Html, html } from './html.ts'
import type { Language } from './languages.ts'
import { fillPlain } from './words.ts'

export type LimitNumber = { name: keyof LimitChoice; label: string; value: string }

/** The numbers of a limit, each with its name: `Times a week`, `20`. */
export function limitNumbers(limit: Limit, { texts }: Language): LimitNumber[] {
  const { uses, unit = '', amount, each } = limit
  const per: Period | 'all' = limit.per ?? 'all'
  const words = texts.limit
  const numbers: LimitNumber[] = [{ name: 'uses', label: words.uses[per], value: String(uses) }]
  if (each !== undefined) numbers.push({ name: 'each', label: fillPlain(words.each, { unit }), value: writeAmount(limit, each) })
  if (amount !== undefined)
    numbers.push({ name: 'amount', label: fillPlain(words.amount[per], { unit }), value: writeAmount(limit, amount) })
  return numbers
}

/** The numbers on a page that only shows them. */
export function limitList(limit: Limit, language: Language): Html {
  return html`<dl class="limit">${limitNumbers(limit, language).map(({ label, value }) => html`<div><dt>${label}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>`
}
