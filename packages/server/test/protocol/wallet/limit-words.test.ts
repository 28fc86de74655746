/** A limit in words, and its amounts as people type them. */
import { LARGEST_AMOUNT, type Limit } from '@grantor/protocol/limit'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { limitFaults } from '../../../src/protocol/oauth/limit-faults.ts'
import { readAmount, writeAmount, writeLimit } from '../../../src/protocol/wallet/limit-words.ts'
import { forAll } from '../../support/property.ts'
import { anyLimit, largestLimit, usualLimit } from './limit-example.ts'

test.each<[Limit, string]>([
  [usualLimit, 'at most 20 times a week, 50.00 NESO each, 500.00 a week'],
  [{ ...usualLimit, per: 'day' }, 'at most 20 times a day, 50.00 NESO each, 500.00 a day'],
  [{ uses: 1, unit: 'EUR', decimals: 0, amount: 7, each: 7 }, 'at most 1 time in all, 7 EUR each, 7 in all'],
  [{ uses: 3, unit: 'X', decimals: 6, amount: 10, each: 1 }, 'at most 3 times in all, 0.000001 X each, 0.000010 in all'],
  [{ uses: 10_000, per: 'day' }, 'at most 10000 times a day'],
  [largestLimit, 'at most 10000 times a week, 999999999.999999 NESONESONE each, 999999999.999999 a week'],
])('The words of the limit %j are: %s', (limit, words) => {
  expect(writeLimit(limit)).toBe(words)
})

test('Every amount that a limit can have reads back from its words', () => {
  forAll(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: LARGEST_AMOUNT }), (decimals, amount) => {
    expect(readAmount({ decimals }, writeAmount({ decimals }, amount))).toBe(amount)
  })
})

test.each([
  [2, '50', 5000],
  [2, '50.5', 5050],
  [2, '0.01', 1],
  [0, '50', 50],
])('An amount with at most %s decimals may have fewer: %s', (decimals, text, amount) => {
  expect(readAmount({ decimals }, text)).toBe(amount)
})

const NO_AMOUNTS = [
  ['', ' ', '0', '0.00', '-1', '+1', '−1', '1e3', '1E3', '0x10', '0b1', 'NaN', 'Infinity', '1_000', '1,000', '1 000', "1'000"],
  ['1,5', '.5', '5.', '1.2.3', '50.001', '007', '00', ' 5', '5 ', '5\n', '\u00a05', '5 NESO'],
  // Digits of other scripts, and a point that is not ASCII.
  ['٥٠', '५०', '５０', '𝟓𝟎', '5０', '50．00', '²', '五'],
  ['1000000000000000', '10000000000000.00', '99999999999999999999'],
].flat()

test.each(NO_AMOUNTS)('A text that is no amount of at most two decimals reads as none: %j', (text) => {
  expect(readAmount({ decimals: 2 }, text)).toBeNull()
})

test('A decimal is refused if the unit has none', () => {
  expect([readAmount({ decimals: 0 }, '5.0'), readAmount({}, '5.0')]).toEqual([null, null])
})

test('Any text is an amount exactly if writing the amount again gives the same number', () => {
  forAll(fc.integer({ min: 0, max: 6 }), fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{1,8}$/)), (decimals, text) => {
    const amount = readAmount({ decimals }, text)
    if (amount === null) return
    expect(Number(writeAmount({ decimals }, amount))).toBe(Number(text))
    expect(text).toMatch(/^[0-9]+(\.[0-9]+)?$/)
  })
})

test('Every limit that can be registered has no fault and has words', () => {
  forAll(anyLimit, (limit) => {
    expect(limitFaults(limit)).toEqual([])
    expect(writeLimit(limit)).toMatch(
      /^at most [1-9][0-9]* times? (?:in all|a day|a week)(?:, [0-9.]+ [A-Z0-9]+ each, [0-9.]+ (?:in all|a day|a week))?$/,
    )
  })
})

const counted = { uses: 20 }
const usual = { ...usualLimit }
test.each<[string | null, unknown]>([
  [null, null],
  [null, 'at most 20 times'],
  [null, [usual]],
  ['uses', {}],
  ...[0, -1, 1.5, '20', 10_001, null, Number.NaN].map((uses): [string, unknown] => ['uses', { ...usual, uses }]),
  ...['month', 'constructor', '', null, 7].map((per): [string, unknown] => ['per', { ...usual, per }]),
  ...['neso', 'NESO NESO', 'A'.repeat(11), '', 'É', 'NESO\n', 1].map((unit): [string, unknown] => ['unit', { ...usual, unit }]),
  ...[-1, 7, 0.5, '2', null].map((decimals): [string, unknown] => ['decimals', { ...usual, decimals }]),
  ...[0, 0.5, '50000', null, 1_000_000_000_000_000, -1].map((amount): [string, unknown] => ['amount', { ...usual, amount }]),
  ...[0, 0.5, '50', null, 1_000_000_000_000_000, -1].map((each): [string, unknown] => ['each', { ...usual, each }]),
  ['each', { ...usual, each: 50_001 }],
  ['unit', { ...counted, decimals: 2, amount: 5, each: 5 }],
  ['decimals', { ...counted, unit: 'EUR', amount: 5, each: 5 }],
  ['amount', { ...counted, unit: 'EUR', decimals: 2, each: 5 }],
  ['each', { ...counted, unit: 'EUR', decimals: 2, amount: 5 }],
  ['total', { ...usual, total: 5 }],
])('The fault of a limit names the member %s: %j', (member, limit) => {
  expect(limitFaults(limit).map((fault) => fault.member)).toContain(member)
  expect(limitFaults(limit)).toHaveLength(1)
  expect(() => writeLimit(limit as Limit)).toThrow(RangeError)
})
