/** What was used of the limit of a grant, for its owner and for operators. */
import type { Left } from '../model/draw-store.ts'
import { leftOf } from '../model/draws.ts'
import type { Grant, SignedLimit } from '../model/records.ts'

/** `used`: in the current period. The amounts are null if the limit has none, and `until` if the limit has no period. `draws`: of the whole grant. */
export type LimitUse = SignedLimit & { used: Left; left: Left; until: number | null; draws: number }

/** What was signed, used and left; null if no scope of the grant has a limit. */
export function describeUse({ signedLimit, drawn }: Pick<Grant, 'signedLimit' | 'drawn'>, now: number): LimitUse | null {
  if (signedLimit === null) return null
  const { left, from, until } = leftOf(signedLimit, drawn, now)
  const { uses, amount } = drawn?.from === from ? drawn : { uses: 0, amount: 0 }
  const used = { uses, amount: signedLimit.limit.amount === undefined ? null : amount }
  return { ...signedLimit, used, left, until, draws: drawn?.draws ?? 0 }
}
