/**
 * What draws need of a store: one row for each use of a limited scope, on the machine of its grant. The counts are in the row of the grant, so one
 * condition on this row decides everything, and the same statement inserts the row of the draw.
 */
import type { SignedLimit } from './records.ts'

/** `clientId`: the client of the API that drew. `key`: the API's name of the use. */
export type DrawKey = { grantId: string; clientId: string; key: string }

/** What is left of a limit; `amount` is null if the limit has none. */
export type Left = { uses: number; amount: number | null }

export type Draw = DrawKey & {
  /** the number of the draw in its grant; the first has 1 */
  number: number
  amount: number | null
  at: number
  /** what was left after the draw */
  left: Left
  /** the begin of the period of the draw, and its end; the end is null if the limit has no period */
  from: number
  until: number | null
  /** the amount that the API gave back, 0 for a use without an amount; null if it gave nothing back */
  returned: number | null
}

/**
 * `jti`, `exchangedFrom`: of the access token, and of the tokens that it was exchanged from, whose revocation revokes it too. `resource`: the resource of the
 * API; null for an exchanged token, which draws from the limit of the scope wherever the wallet allowed it. `scopes`: the scopes of the token.
 */
export type DrawRequest = DrawKey & {
  jti: string
  exchangedFrom?: readonly string[] | undefined
  resource: string | null
  scopes: readonly string[]
  amount: number | null
  at: number
}

export type DrawOutcome =
  /** drawn now, or earlier with the same key and the same amount */
  | { kind: 'drawn'; draw: Draw; isAgain: boolean }
  /** the key has another amount; the rest is unchanged, as after every outcome below */
  | { kind: 'key_used' }
  /** the grant has ended, has expired or is unknown, or the token was revoked */
  | { kind: 'inactive' }
  /** the grant has no limit for this resource, or the token lacks the scope */
  | { kind: 'no_limit' }
  /** an amount is missing, or the limit has none */
  | { kind: 'amount_missing' | 'amount_without_limit' }
  | { kind: 'each_exceeded' | 'uses_exceeded' | 'amount_exceeded'; limit: SignedLimit }

/** `amount`: what is given back; null for a use without an amount. */
export type DrawReturn = { amount: number | null; at: number }

export type ReturnOutcome =
  /** given back now, or earlier with the same amount */
  | { kind: 'returned'; draw: Draw }
  /** an amount is missing, or the draw has none */
  | { kind: 'amount_missing' }
  | { kind: 'amount_without_limit' }
  /** given back before with another amount, or more than was drawn */
  | { kind: 'returned_otherwise' }
  | { kind: 'above_draw' }
  | { kind: 'unknown' }

export interface DrawStore {
  /**
   * Draws once for each key. If several requests race, exactly one draws, and the others get its values. A repeated request gets them too, also after
   * the end of the grant. After an acknowledged end of the grant no request draws.
   */
  draw(request: DrawRequest): Promise<DrawOutcome>
  /** Null for an unknown key. */
  readDraw(key: DrawKey): Promise<Draw | null>
  /**
   * Gives back a part of a draw, or all of it, once. The use is given back only with the whole amount. After the period of the draw, nothing changes
   * except the row of the draw. Needs no living grant.
   */
  giveBack(key: DrawKey, given: DrawReturn): Promise<ReturnOutcome>
  /** A page of the draws of a grant, the newest first. `before`: the number of the last draw of the previous page. */
  listDraws(grantId: string, page: { before?: number | undefined; limit: number }): Promise<Draw[]>
}
