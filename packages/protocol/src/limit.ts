/** How much an app may use one scope: what an operator registers, a user signs, and an API reads. */

/** The seconds of each period. */
export const PERIODS = { day: 86_400, week: 604_800 } as const
export type Period = keyof typeof PERIODS

/** Exact in JSON, in the `bigint` of PostgreSQL, and in SQLite. */
export const LARGEST_AMOUNT = 999_999_999_999_999

/**
 * The most that an app may use one scope. Amounts are whole numbers of the smallest step of the unit: with two decimals, 5000 is 50.00. `unit`,
 * `decimals`, `amount` and `each` are all present or all absent.
 */
export type Limit = {
  /** the number of uses in each period, or in the whole time without a period */
  uses: number
  /** absent for the whole time of the grant */
  per?: Period
  unit?: string
  decimals?: number
  /** the sum of all uses in each period */
  amount?: number
  /** the most of one use */
  each?: number
}

/** Whether a value is an amount: 1 to `LARGEST_AMOUNT`, in the smallest step of the unit. */
export function isAmount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= LARGEST_AMOUNT
}
