/** The limit that a user signed for one scope, and what is left, as the authorization server writes them. */
import { isAmount, type Limit, PERIODS, type Period } from '@grantor/protocol/limit'
import { parseScope } from '@grantor/protocol/scope'

/** How much the user allowed. Amounts are whole numbers of the smallest step of the unit: with two decimals, 5000 is 50.00. */
export interface SignedLimit extends Limit {
  /** The scope that has the limit. */
  scope: string
}

/** What is left of a limit. */
export interface LimitLeft {
  /** 0 to 10,000 uses in this period, or in all if the limit has no period. */
  uses: number
  /** The rest in the smallest step of the unit; absent if the limit has no amount. */
  amount?: number
  /** Epoch seconds: the end of the period; absent if the limit has no period. */
  until?: number
}

type Json = Record<string, unknown>

/** The largest number of uses in a limit. */
const USES_AT_MOST = 10_000

/** Undefined if a member is missing or wrong. */
export function readLimit(value: unknown): SignedLimit | undefined {
  const { scope, uses, per, unit, decimals, amount, each } = asObject(value)
  if (!isOneScope(scope) || !isCount(uses) || uses < 1) return undefined
  if (per !== undefined && !isPeriod(per)) return undefined
  const limit: SignedLimit = { scope, uses, ...(per === undefined ? {} : { per }) }
  if ([unit, decimals, amount, each].every((member) => member === undefined)) return limit
  const isRead =
    typeof unit === 'string' &&
    /^[A-Z0-9]{1,10}$/.test(unit) &&
    isWhole(decimals) &&
    decimals <= 6 &&
    isAmount(amount) &&
    isAmount(each) &&
    each <= amount
  return isRead ? { ...limit, unit, decimals, amount, each } : undefined
}

/** Undefined if a member is missing or wrong. */
export function readLeft(value: unknown): LimitLeft | undefined {
  const { uses, amount, until } = asObject(value)
  if (!isCount(uses) || !(amount === undefined || isRest(amount)) || !(until === undefined || isWhole(until))) return undefined
  return { uses, ...(amount === undefined ? {} : { amount }), ...(until === undefined ? {} : { until }) }
}

export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Whether a value is one scope (RFC 6749 §3.3). */
export function isOneScope(value: unknown): value is string {
  return typeof value === 'string' && parseScope(value)?.length === 1
}

/** A rest of an amount, or a part that was given back. */
export function isRest(value: unknown): value is number {
  return value === 0 || isAmount(value)
}

function isPeriod(value: unknown): value is Period {
  return typeof value === 'string' && Object.hasOwn(PERIODS, value)
}

function isCount(value: unknown): value is number {
  return isWhole(value) && value <= USES_AT_MOST
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}
