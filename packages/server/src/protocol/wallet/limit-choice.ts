/** The numbers of a limit as a user typed them, at the login page or at a platform's own login server. */
import type { Limit } from '@grantor/protocol/limit'
import { readAmount } from './limit-words.ts'

/** In the digits of the page: whole uses, and amounts such as `50.00`. `each` and `amount` are absent if the limit has no amounts. */
export type LimitChoice = { uses: string; each?: string | undefined; amount?: string | undefined }

export const LIMIT_CHOICES = ['uses', 'each', 'amount'] as const satisfies (keyof LimitChoice)[]

/**
 * The limit with the numbers that the user chose. `declined`: the user allows no use. Null if a number is missing, is not a number, or is not
 * within the limit: each number can only be lowered.
 */
export function lowerLimit(limit: Limit, choice: LimitChoice): Limit | 'declined' | null {
  if (choice.uses === '0') return 'declined'
  const uses = /^[1-9][0-9]{0,4}$/.test(choice.uses) ? Number(choice.uses) : null
  if (uses === null || uses > limit.uses) return null
  if (limit.amount === undefined || limit.each === undefined)
    return choice.each === undefined && choice.amount === undefined ? { ...limit, uses } : null
  const each = readAmount(limit, choice.each ?? '')
  const amount = readAmount(limit, choice.amount ?? '')
  if (each === null || amount === null || each > limit.each || amount > limit.amount || each > amount) return null
  return { ...limit, uses, amount, each }
}
