import { expect, test } from 'vitest'
import { seeded } from './random.ts'

const draws = (seed: number, name: string): number[] => {
  const random = seeded(seed).stream(name)
  return Array.from({ length: 100 }, () => random.below(1000))
}

test('A seed repeats its schedule, stream by stream', () => {
  expect(draws(7, 'faults')).toEqual(draws(7, 'faults'))
})

test('Another seed, or another stream of the same seed, gives another schedule', () => {
  expect(draws(7, 'faults')).not.toEqual(draws(8, 'faults'))
  expect(draws(7, 'faults')).not.toEqual(draws(7, 'person 1'))
})

test('Random numbers are distributed evenly', () => {
  const random = seeded(1)
  const counts = Array.from({ length: 10 }, () => 0)
  for (let draw = 0; draw < 10_000; draw++) counts[random.below(10)]!++
  for (const count of counts) expect(count).toBeGreaterThan(850)
})
