/**
 * A limit as a text to sign writes it, in words and in numbers for programs.
 *
 * Templates use these functions and must keep their bytes, so these functions must not change their output. The words contain every number of
 * the limit, so a limit is read from the words alone.
 */

import { isAmount, type Limit, type Period } from '@grantor/protocol/limit'
import { limitFaults } from '../oauth/limit-faults.ts'
import { checkForm, forms } from './message-grammar.ts'

/** A limit, and the scope and the resource that it belongs to. */
export type ScopeLimit = { resource: string; scope: string; limit: Limit }

/** `50.00` for 5000 with two decimals: ASCII digits and a point, without grouping, in every language. */
export function writeAmount({ decimals = 0 }: Pick<Limit, 'decimals'>, amount: number): string {
  const digits = String(amount).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/**
 * The amount in the smallest step of the unit, as `writeAmount` writes it or with fewer decimals (`50`, `50.5`). Null for any other text: a sign, an
 * exponent, a digit of another script, a leading zero, more decimals than the limit has, or an amount that is 0 or too large.
 */
export function readAmount({ decimals = 0 }: Pick<Limit, 'decimals'>, text: string): number | null {
  const [, whole, fraction = ''] = /^(0|[1-9][0-9]{0,14})(?:\.([0-9]{1,6}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.length > decimals) return null
  const amount = Number(whole + fraction.padEnd(decimals, '0'))
  return isAmount(amount) ? amount : null
}

/**
 * `at most 20 times a week, 50.00 NESO each, 500.00 a week`
 *
 * @throws RangeError if no resource can have the limit: a defect, because registration refuses the limit.
 */
export function writeLimit(limit: Limit): string {
  if (limitFaults(limit).length > 0) throw new RangeError('limit does not fit the text to sign')
  const { uses, per, unit, amount, each } = limit
  const span = per === undefined ? IN_ALL : `a ${per}`
  const times = `at most ${uses} ${uses === 1 ? 'time' : 'times'} ${span}`
  if (amount === undefined || each === undefined) return times
  return `${times}, ${writeAmount(limit, each)} ${unit} each, ${writeAmount(limit, amount)} ${span}`
}

const IN_ALL = 'in all'

/** The sentence of the text: `Limit: enhancement at most 20 times a week.` The permissions after it name the resource of the scope. */
export function writeLimitSentence({ scope, limit }: Pick<ScopeLimit, 'scope' | 'limit'>): string {
  return `Limit: ${checkForm('scope', scope, forms.scope)} ${writeLimit(limit)}.`
}

const wordsForm =
  /^at most (?<uses>[0-9]{1,5}) times? (?<span>in all|a day|a week)(?:, (?<each>[0-9.]{1,16}) (?<unit>[A-Z0-9]{1,10}) each, (?<amount>[0-9.]{1,16}) (?<amountSpan>in all|a day|a week))?$/
const LIMIT_WORDS_FORM = wordsForm.source.slice(1, -1)

/** A pattern that matches every sentence of `writeLimitSentence`, for `readLimit`. */
export const LIMIT_SENTENCE_FORM = `Limit: (?<limited>[A-Za-z0-9._-]{1,64}) ${LIMIT_WORDS_FORM}\\.`

type Groups = Readonly<Record<string, string | undefined>>

/**
 * Reads loosely the groups of `LIMIT_SENTENCE_FORM`: the caller composes the text again and compares. Undefined without a limit.
 */
export function readLimit(groups: Groups): Pick<ScopeLimit, 'scope' | 'limit'> | undefined {
  const { limited: scope } = groups
  return scope === undefined ? undefined : { scope, limit: limitOfGroups(groups) }
}

/**
 * Reads what an operator typed in the words of `writeLimit`; null for other words. An amount may have fewer decimals than the other. The limit can
 * have faults (`limitFaults`).
 */
export function readLimitWords(words: string): Limit | null {
  const groups: Groups | undefined = wordsForm.exec(words)?.groups
  return groups === undefined || groups.span !== (groups.amountSpan ?? groups.span) ? null : limitOfGroups(groups)
}

function limitOfGroups({ uses, span, unit, each = '', amount = '' }: Groups): Limit {
  const per = span === IN_ALL ? {} : { per: span?.slice('a '.length) as Period }
  const counted: Limit = { uses: Number(uses), ...per }
  if (unit === undefined) return counted
  const decimals = Math.max(...[each, amount].map((text) => text.split('.')[1]?.length ?? 0))
  const read = (text: string): number => readAmount({ decimals }, text) ?? 0
  return { ...counted, unit, decimals, amount: read(amount), each: read(each) }
}

/**
 * The restriction of the ability in a ReCap (ERC-5573, "nota bene"). The members are sorted and absent ones are left out, so the same limit
 * always gives the same bytes.
 *
 * @throws RangeError as `writeLimit` does.
 */
export function limitRestriction(limit: Limit): { limit: Record<string, string | number> } {
  if (limitFaults(limit).length > 0) throw new RangeError('limit does not fit the text to sign')
  const members = Object.entries(limit).filter((entry): entry is [string, string | number] => entry[1] !== undefined)
  return { limit: Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1))) }
}
