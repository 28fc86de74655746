/** Linearizability: the search finds an order exactly if there is one, and planted faults have none. */
import { describe, expect, test } from 'vitest'
import { active, type HistoryBuilder, historyWithGrant, inactive, lost, RULES, refused, tokens } from '../history-builder.ts'
import { seeded } from '../random.ts'
import { checkOrder } from './index.ts'
import type { Operation } from './operations.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { randomHistory } from './random-history.ts'
import { findContradiction, reduce } from './search.ts'
import { next, START, type State } from './specification.ts'

const done = { kind: 'done' as const }
const explained = ({ entries }: HistoryBuilder): boolean => checkOrder(entries, RULES).violations.length === 0

test.each(PLANTED_FAULTS)('No order explains a history with a planted fault: %s', (_, history) => {
  expect(explained(history)).toBe(false)
})

describe('Histories without a fault', () => {
  test.each<[string, HistoryBuilder]>([
    ['a lost refresh that took effect', historyWithGrant().refresh('r0', lost).refresh('r0', tokens(1)).refresh('r1', tokens(2))],
    [
      'a lost revocation that takes effect later than the next request',
      historyWithGrant().revoke('r0', lost).introspect('a0', active).introspect('a0', inactive).refresh('r0', refused),
    ],
    [
      'overlapping requests of which some come before the ending',
      historyWithGrant()
        .revoke('r0', done, { at: 20, took: 50 })
        .introspect('a0', active, { at: 25 })
        .refresh('r0', tokens(1), { at: 30, took: 30 })
        .introspect('a0', inactive, { at: 62 }),
    ],
  ])('An order explains the history: %s', (_, history) => {
    expect(explained(history)).toBe(true)
  })

  test('Fifty refreshes of one token at once, beside a revocation, are decided without trying every order', () => {
    const race = historyWithGrant().revoke('r0', done, { at: 20, took: 200 })
    for (let index = 0; index < 50; index++)
      race.refresh('r0', index % 2 ? refused : tokens(1), { at: 30 + index / 100, took: 100 })
    expect(explained(race)).toBe(true)
    expect(explained(race.introspect('a1', active))).toBe(false)
  })
})

test.each([20261126, 20261127])(
  'The search, with and without its reductions, agrees with a trial of every order: seed %i',
  (seed) => {
    const random = seeded(seed)
    const seen = { explained: 0, contradicted: 0 }
    for (let round = 0; round < 3000; round++) {
      const operations = randomHistory(random)
      const isExplained = tryEveryOrder(operations, START)
      seen[isExplained ? 'explained' : 'contradicted']++
      expect({ operations, isExplained: findContradiction(operations) === null }).toEqual({ operations, isExplained })
      expect({ operations, isExplained: findContradiction(reduce(operations)) === null }).toEqual({ operations, isExplained })
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(500)
  },
)

/** Recursion over all operations that can be first. */
function tryEveryOrder(operations: readonly Operation[], state: State): boolean {
  if (operations.length === 0) return true
  const firstEnd = Math.min(...operations.map(({ end }) => end))
  return operations.some(
    (operation) =>
      operation.begin <= firstEnd &&
      next(state, operation.step).some((after) =>
        tryEveryOrder(
          operations.filter((each) => each !== operation),
          after,
        ),
      ),
  )
}
