import type { Shown } from '../../operations/members/member.ts'
import { number } from '../../operations/words.ts'
import { type Fillable, html } from '../html.ts'
import { fromNow } from '../times.ts'
import { exact, lines, moment, tag } from './parts.ts'

/** A value on a page with all facts of a record. */
export function shownFact(shown: Shown): Fillable {
  if (typeof shown === 'object' && shown !== null && 'time' in shown) return moment(shown.time)
  return shownCell(shown, 0)
}

/** A value in a table. A time is shown relative to now. */
export function shownCell(shown: Shown, now: number): Fillable {
  if (shown === null) return '–'
  if (typeof shown === 'string') return shown
  if (typeof shown === 'number') return number(shown)
  if ('exact' in shown) return exact(shown.exact)
  if ('lines' in shown) return lines(shown.lines, shown.none)
  if ('words' in shown) return lines(shown.words, shown.none)
  if ('time' in shown) return fromNow(shown.time, now)
  const { state, tone, since = null } = shown
  return html`${tag(state, tone)}${since !== null && html` since ${moment(since)}`}`
}
