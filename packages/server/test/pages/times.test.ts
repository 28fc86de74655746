import { expect, test } from 'vitest'
import { ENGLISH } from '../../src/pages/languages.ts'
import { day, fromNow, timeLeft } from '../../src/pages/times.ts'

const NOW = Date.UTC(2027, 0, 15, 8) / 1000
const words = (html: unknown): string => String(html).replace(/<[^>]*>/g, '')

test('A day is shown in UTC, in an element with the exact time', () => {
  expect(String(day(NOW, ENGLISH))).toBe('<time datetime="2027-01-15T08:00:00.000Z">15 January 2027</time>')
  expect(words(day(Date.UTC(2027, 0, 15, 23, 59, 59) / 1000, ENGLISH))).toBe('15 January 2027')
})

test.each([
  [0, 'just now'],
  [-59, 'just now'],
  [-60, '1 minute ago'],
  [-3_599, '59 minutes ago'],
  [-3_600, '1 hour ago'],
  [-86_399, '23 hours ago'],
  [-86_400, 'yesterday'],
  [-59 * 86_400, '59 days ago'],
  [-75 * 86_400, '2 months ago'],
  [-800 * 86_400, '2 years ago'],
  [90, 'in 1 minute'],
  [86_400, 'tomorrow'],
  [29.9 * 86_400, 'in 29 days'],
])('A time in the past or future is shown relative to now, in its largest whole unit: %d seconds', (seconds, text) => {
  expect(words(fromNow(NOW + seconds, NOW, ENGLISH))).toBe(text)
})

test.each([
  [600, 'in 10 minutes'],
  [599, 'in 9 minutes'],
  [60, 'in 1 minute'],
  [59, 'in 59 seconds'],
  [-1, 'now'],
])('The time that is left is never more than it is: %d seconds', (seconds, text) => {
  expect(timeLeft(NOW + seconds, NOW, ENGLISH)).toBe(text)
})
