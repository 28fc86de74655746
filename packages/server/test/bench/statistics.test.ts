import { expect, test } from 'vitest'
import { median, percentile, spread } from '../../../../bench/statistics.ts'

test('The median is the middle value, or the mean of the two middle values', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(median([7])).toBe(7)
  expect(median([])).toBeNaN()
})

test('A percentile is the smallest value that the given part of all values does not exceed', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
  expect(percentile(hundred, 0.5)).toBe(50)
  expect(percentile(hundred, 0.99)).toBe(99)
  expect(percentile(hundred, 1)).toBe(100)
  expect(percentile([3, 8], 0.99)).toBe(8)
  expect(percentile([3, 8], 0)).toBe(3)
  expect(percentile([], 0.99)).toBeNaN()
})

test('The spread of a measurement is the difference of its extremes divided by its median', () => {
  expect(spread([90, 100, 120])).toBeCloseTo(0.3)
  expect(spread([5])).toBe(0)
})
