import { type Html, html } from './html.ts'

/**
 * Moments in plain words. A day is written out in UTC, because the page is made without knowing where its reader is;
 * how long ago or how far ahead it is needs no time zone at all.
 */

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "20 December 2026". Epoch seconds. */
export function day(at: number): Html {
  return timeTag(at, DAY.format(at * 1000))
}

/** "3 hours ago", "yesterday", "in 29 days"; whatever is within a minute is "just now". Epoch seconds. */
export function fromNow(at: number, now: number): Html {
  return timeTag(at, relative(at - now))
}

/** Up to so many seconds, in units of so many. */
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
