/** Whether a value is a limit of a scope (`@grantor/protocol/limit`). Each fault names a member of the limit, in one sentence. */

import { isAmount, LARGEST_AMOUNT, type Limit, PERIODS } from '@grantor/protocol/limit'

export const USES_AT_MOST = 10_000
export const DECIMALS_AT_MOST = 6
const UNIT = /^[A-Z0-9]{1,10}$/

const MEMBERS = ['uses', 'per', 'unit', 'decimals', 'amount', 'each'] as const satisfies (keyof Limit)[]
/** All present or all absent. */
const OF_AMOUNTS = ['unit', 'decimals', 'amount', 'each'] as const satisfies (keyof Limit)[]

/** `member`: as the value has it; null if the value is not an object. */
export type LimitFault = { member: string | null; words: string }

/** The faults of any value; none if the value is a `Limit`. A member that is undefined is absent. */
export function limitFaults(value: unknown): LimitFault[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ member: null, words: 'A limit is an object with at least the member uses.' }]
  const limit = Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))
  const unknown = Object.keys(limit).filter((member) => !MEMBERS.some((each) => each === member))
  return [
    ...unknown.map((member) => ({ member, words: `A limit has no member ${JSON.stringify(member)}.` })),
    ...MEMBERS.flatMap((member) => {
      const words = memberFault(limit, member)
      return words === null ? [] : [{ member, words }]
    }),
  ]
}

function memberFault(limit: Record<string, unknown>, member: (typeof MEMBERS)[number]): string | null {
  const value = limit[member]
  if (value === undefined) {
    if (member === 'uses') return 'uses is missing.'
    const isPartial = OF_AMOUNTS.some((each) => each === member) && OF_AMOUNTS.some((each) => limit[each] !== undefined)
    return isPartial ? `${member} is missing: unit, decimals, amount and each come together.` : null
  }
  switch (member) {
    case 'uses':
      return isWhole(value, 1, USES_AT_MOST) ? null : `uses is not a whole number from 1 to ${USES_AT_MOST}.`
    case 'per':
      return typeof value === 'string' && Object.hasOwn(PERIODS, value)
        ? null
        : `per is not ${Object.keys(PERIODS).join(' or ')}.`
    case 'unit':
      return typeof value === 'string' && UNIT.test(value) ? null : 'unit is not 1 to 10 of A-Z 0-9.'
    case 'decimals':
      return isWhole(value, 0, DECIMALS_AT_MOST) ? null : `decimals is not a whole number from 0 to ${DECIMALS_AT_MOST}.`
    case 'amount':
      return isAmount(value) ? null : notAnAmount(member)
    case 'each':
      return eachFault(value, limit.amount)
  }
}

function eachFault(each: unknown, amount: unknown): string | null {
  if (!isAmount(each)) return notAnAmount('each')
  return isAmount(amount) && each > amount ? 'each is above amount.' : null
}

function notAnAmount(member: string): string {
  return `${member} is not a whole number of the smallest step, from 1 to ${LARGEST_AMOUNT}.`
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}
