/**
 * The part of a downloaded receipt that the wallet did not sign: the uses of a limit, as the service counted them. Each holder of the file can change
 * this part, so nothing of it is proven.
 */
import { isAmount } from '@grantor/protocol/limit'

/** The member of the file. */
export const NOT_SIGNED = 'not_signed'

/** `issuer`: the origin of the service that counted. `at`: when, in epoch seconds. `draws`: the newest first. */
export type ServerWord = { issuer: string; at: number; draws: CountedDraw[] }

/** `amount`: absent if the limit has none. `returned`: the amount that was given back, 0 for a use without an amount; absent if nothing was. */
export type CountedDraw = { draw: number; at: number; amount?: number; returned?: number }

const DRAWS_AT_MOST = 10_000
/** An origin, in printable ASCII. */
const ISSUER = /^https?:\/\/[a-z0-9.:[\]-]{1,260}$/

/** The value as this type; null if the value has any other form. */
export function parseServerWord(value: unknown): ServerWord | null {
  if (!hasMembers(value, ['issuer', 'at', 'draws'])) return null
  const { issuer, at, draws } = value
  if (typeof issuer !== 'string' || !ISSUER.test(issuer) || !isTime(at)) return null
  if (!Array.isArray(draws) || draws.length > DRAWS_AT_MOST || !draws.every(isCountedDraw)) return null
  return { issuer, at, draws }
}

function isCountedDraw(value: unknown): value is CountedDraw {
  if (!hasMembers(value, ['draw', 'at'], ['amount', 'returned'])) return false
  const { draw, at, amount, returned } = value
  return (
    isAmount(draw) &&
    draw <= DRAWS_AT_MOST &&
    isTime(at) &&
    (amount === undefined || isAmount(amount)) &&
    (returned === undefined || returned === 0 || isAmount(returned))
  )
}

/** Until the year 9999, in epoch seconds. */
function isTime(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 253_402_300_799
}

function hasMembers(
  value: unknown,
  required: readonly string[],
  optional: readonly string[] = [],
): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const names = Object.keys(value)
  return required.every((name) => names.includes(name)) && names.every((name) => [...required, ...optional].includes(name))
}
