import { type Html, html } from './html.ts'
import type { Language } from './languages.ts'

/**
 * Times in plain words. A day is written in UTC, because a request does not contain the reader's time zone. Relative times need no time
 * zone.
 */

/** "20 December 2026". Epoch seconds. */
export function day(at: number, language: Language): Html {
  return timeTag(at, language.formats().day.format(at * 1000))
}

/** The day, and "14:05 UTC" after it if another of `all` is on the same day. Epoch seconds. */
export function dayAmong(at: number, all: number[], language: Language): Html {
  const dayOf = (time: number): number => Math.floor(time / 86_400)
  const isAlone = all.filter((other) => dayOf(other) === dayOf(at)).length < 2
  return isAlone ? day(at, language) : minute(at, language)
}

/** The day and "14:05 UTC" after it. Epoch seconds. */
export function minute(at: number, language: Language): Html {
  return timeTag(at, `${language.formats().minute.format(at * 1000)} UTC`)
}

/** "3 hours ago", "yesterday", "in 29 days"; less than a minute away is "just now". Epoch seconds. */
export function fromNow(at: number, now: number, language: Language): Html {
  return timeTag(at, relative(at - now, language))
}

/** "in 9 minutes", "in 40 seconds": the time that is left, and never more. Epoch seconds. */
export function timeLeft(until: number, now: number, { formats }: Language): string {
  const seconds = Math.max(0, until - now)
  return seconds < 60
    ? formats().relative.format(seconds, 'second')
    : formats().relative.format(Math.floor(seconds / 60), 'minute')
}

/** Limit in seconds, size of the unit in seconds, name of the unit. */
const UNITS = [
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [60 * 86_400, 86_400, 'day'],
  [720 * 86_400, 30 * 86_400, 'month'],
  [Infinity, 365 * 86_400, 'year'],
] as const

function relative(seconds: number, language: Language): string {
  const away = Math.abs(seconds)
  if (away < 60) return language.texts.justNow
  const [, size, unit] = UNITS.find(([limit]) => away < limit) ?? UNITS[4]
  return language.formats().relative.format(Math.trunc(seconds / size), unit)
}

function timeTag(at: number, words: string): Html {
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${words}</time>`
}
