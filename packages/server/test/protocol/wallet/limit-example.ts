import { LARGEST_AMOUNT, type Limit } from '@grantor/protocol/limit'
import * as fc from 'fast-check'

/** At most 20 times a week, 50.00 NESO each, 500.00 a week. */
export const usualLimit: Limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5_000 }

/** The limit with the longest words. */
export const largestLimit: Limit = {
  uses: 10_000,
  per: 'week',
  unit: 'NESONESONE',
  decimals: 6,
  amount: LARGEST_AMOUNT,
  each: LARGEST_AMOUNT,
}

const amounts = fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: LARGEST_AMOUNT }))

/** Any limit that can be registered. */
export const anyLimit: fc.Arbitrary<Limit> = fc
  .record({
    uses: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 10_000 })),
    per: fc.constantFrom('day', 'week', undefined),
    unit: fc.stringMatching(/^[A-Z0-9]{1,10}$/),
    decimals: fc.integer({ min: 0, max: 6 }),
    both: fc.tuple(amounts, amounts),
    hasAmounts: fc.boolean(),
  })
  .map(({ uses, per, unit, decimals, both, hasAmounts }) => ({
    uses,
    ...(per && { per }),
    ...(hasAmounts && { unit, decimals, amount: Math.max(...both), each: Math.min(...both) }),
  }))
