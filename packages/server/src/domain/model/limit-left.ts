/** What is left of the limit of a grant, now, and for which tokens. */
import { parseScope } from '@grantor/protocol/scope'
import type { AccessTokenClaims } from '../../protocol/keys/access-token-claims.ts'
import type { DrawRequest, Left } from './draw-store.ts'
import { leftOf } from './draws.ts'
import type { Grant } from './records.ts'

/** `until`: the end of the period, in epoch seconds; absent without a period. `amount`: absent if the limit has none. */
export type LeftOnWire = { uses: number; amount?: number; until?: number }

/** Null if no scope of the grant has a limit. */
export function describeLeft({ signedLimit, drawn }: Pick<Grant, 'signedLimit' | 'drawn'>, now: number): LeftOnWire | null {
  if (signedLimit === null) return null
  const { left, until } = leftOf(signedLimit, drawn, now)
  return onWire(left, until)
}

export function onWire({ uses, amount }: Left, until: number | null): LeftOnWire {
  return { uses, ...(amount !== null && { amount }), ...(until !== null && { until }) }
}

/** From which limit a token draws: an exchanged token from that of its scope, wherever the wallet allowed the scope. */
export function placeOf({ aud, scope, act }: AccessTokenClaims): Pick<DrawRequest, 'resource' | 'scopes'> {
  return { resource: act ? null : aud, scopes: parseScope(scope) ?? [] }
}
