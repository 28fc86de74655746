/**
 * The rules of draws, as pure functions, so that both stores apply one rule. SQLite calls `decideDraw` and `decideReturn` between the read and the
 * update of one transaction. PostgreSQL updates the rows with the same rule as a condition, and calls the function if no row changed.
 */
import { PERIODS } from '@grantor/protocol/limit'
import type { Draw, DrawOutcome, DrawRequest, DrawReturn, Left, ReturnOutcome } from './draw-store.ts'
import type { Drawn, SignedLimit } from './records.ts'
import type { GrantValidity } from './request-store.ts'

/** The draws of one grant, whatever its limit is. Their rows stay as long as the row of the grant. */
export const DRAWS_OF_GRANT_AT_MOST = 10_000

/** What is left at a time. `from`, `until`: the begin and the end of the period; `until` is null if the limit has no period. */
export type LeftInPeriod = { left: Left; from: number; until: number | null }

/** What is left of a limit. `drawn`: as stored, also if its period is over. */
export function leftOf({ limit, signedAt }: SignedLimit, drawn: Drawn | null, at: number): LeftInPeriod {
  const length = limit.per === undefined ? null : PERIODS[limit.per]
  const begun = length === null ? signedAt : signedAt + Math.floor((at - signedAt) / length) * length
  // A clock that is set back begins no earlier period, whose uses would be counted again.
  const from = Math.max(signedAt, begun, drawn?.from ?? signedAt)
  const used = drawn?.from === from ? drawn : { uses: 0, amount: 0 }
  const left = {
    uses: Math.min(limit.uses - used.uses, DRAWS_OF_GRANT_AT_MOST - (drawn?.draws ?? 0)),
    amount: limit.amount === undefined ? null : limit.amount - used.amount,
  }
  return { left, from, until: length === null ? null : from + length }
}

/** What decides about a draw. `grant`: null for an unknown grant. `draw`: the draw with the key of the request; null if there is none. */
export type DrawnGrant = { grant: GrantValidity | null; draw: Draw | null }

/** `draw`: the row of the draw is inserted, and the grant gets these counts. Otherwise both stay as they are. */
export function decideDraw(
  { grant, draw }: DrawnGrant,
  request: DrawRequest,
): { change: 'draw'; draw: Draw; drawn: Drawn } | { change: 'none'; outcome: DrawOutcome } {
  const none = (outcome: DrawOutcome) => ({ change: 'none', outcome }) as const
  // This use was drawn before, and its result was lost. Checked before the grant, which may have ended since.
  if (draw) return none(draw.amount === request.amount ? { kind: 'drawn', draw, isAgain: true } : { kind: 'key_used' })
  if (!grant || !isActive(grant, request)) return none({ kind: 'inactive' })
  const { signedLimit, drawn } = grant
  if (!signedLimit || !mayDraw(signedLimit, request)) return none({ kind: 'no_limit' })

  const { limit } = signedLimit
  if (request.amount === null && limit.amount !== undefined) return none({ kind: 'amount_missing' })
  if (request.amount !== null && limit.amount === undefined) return none({ kind: 'amount_without_limit' })
  const { left, from, until } = leftOf(signedLimit, drawn, request.at)
  const amount = request.amount ?? 0
  if (amount > (limit.each ?? 0)) return none({ kind: 'each_exceeded', limit: signedLimit })
  if (left.uses < 1) return none({ kind: 'uses_exceeded', limit: signedLimit })
  if (amount > (left.amount ?? 0)) return none({ kind: 'amount_exceeded', limit: signedLimit })

  const { grantId, clientId, key, at } = request
  const number = (drawn?.draws ?? 0) + 1
  const after = { uses: left.uses - 1, amount: left.amount === null ? null : left.amount - amount }
  const before = drawn?.from === from ? drawn : { uses: 0, amount: 0 }
  return {
    change: 'draw',
    draw: { grantId, clientId, key, number, amount: request.amount, at, left: after, from, until, returned: null },
    drawn: { from, uses: before.uses + 1, amount: before.amount + amount, draws: number },
  }
}

/** Whether the token has the limited scope, at the resource of the limit. */
export function mayDraw({ resource, scope }: SignedLimit, token: Pick<DrawRequest, 'resource' | 'scopes'>): boolean {
  return (token.resource === null || token.resource === resource) && token.scopes.includes(scope)
}

function isActive(grant: GrantValidity, { jti, exchangedFrom = [], at }: DrawRequest): boolean {
  const isRevoked = [jti, ...exchangedFrom].some((each) => each in grant.revokedTokens)
  return grant.endedAt === null && grant.expiresAt > at && !isRevoked
}

/** `return`: the row of the draw gets `returned`, and the grant gets these counts; null if they stay as they are. */
export function decideReturn(
  draw: Draw | null,
  drawn: Drawn | null,
  { amount, at }: DrawReturn,
): { change: 'return'; draw: Draw & { returned: number }; drawn: Drawn | null } | { change: 'none'; outcome: ReturnOutcome } {
  const none = (outcome: ReturnOutcome) => ({ change: 'none', outcome }) as const
  if (!draw) return none({ kind: 'unknown' })
  if (amount === null && draw.amount !== null) return none({ kind: 'amount_missing' })
  if (amount !== null && draw.amount === null) return none({ kind: 'amount_without_limit' })
  const returned = amount ?? 0
  if (draw.returned !== null)
    return none(draw.returned === returned ? { kind: 'returned', draw } : { kind: 'returned_otherwise' })
  const whole = draw.amount ?? 0
  if (returned > whole) return none({ kind: 'above_draw' })

  const isCounted = drawn?.from === draw.from && (draw.until === null || draw.until > at)
  const uses = returned === whole ? 1 : 0
  return {
    change: 'return',
    draw: { ...draw, returned },
    drawn: isCounted ? { ...drawn, uses: drawn.uses - uses, amount: drawn.amount - returned } : null,
  }
}
