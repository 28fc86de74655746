import { type Html, html } from './html.ts'

/**
 * Times in plain words. A day is written in UTC, because the server does not know the reader's time zone. Relative
 * times need no time zone.
 */

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "20 December 2026". Epoch seconds. */
export function day(at: number): Html {
  return timeTag(at, DAY.format(at * 1000))
}

/** "3 hours ago", "yesterday", "in 29 days"; less than a minute away is "just now". Epoch seconds. */
export function fromNow(at: number, now: number): Html {
  return timeTag(at, relative(at - now))
}

/** Limit in seconds, size of the unit in seconds, name of the unit. */
const UNITS = [
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [60 * 86_400, 86_400, 'day'],
  [720 * 86_400, 30 * 86_400, 'month'],
  [Infinity, 365 * 86_400, 'year'],
] as const

function relative(seconds: number): string {
  const away = Math.abs(seconds)
  if (away < 60) return 'just now'
  const [, size, unit] = UNITS.find(([limit]) => away < limit) ?? UNITS[4]
  return RELATIVE.format(Math.trunc(seconds / size), unit)
}

function timeTag(at: number, words: string): Html {
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${words}</time>`
}
