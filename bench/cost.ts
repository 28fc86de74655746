/** The cost of a million people a day: the measured processor time of each operation, times the number of operations of a person. */
import { resultOf } from './checks.ts'
import { OPERATIONS, type OperationName } from './operations.ts'
import type { PartResult } from './parts.ts'
import { median } from './statistics.ts'

/** A person who is signed in uses an app for an hour, and the app's API introspects the token for each of 100 requests. */
const A_DAY: readonly { operation: OperationName; times: number; why: string }[] = [
  { operation: 'authorize', times: 1, why: 'one visit' },
  { operation: 'code', times: 1, why: 'one visit' },
  { operation: 'refresh', times: 6, why: 'an hour at 600 s for an access token' },
  { operation: 'new', times: 6, why: 'the first request with each access token' },
  { operation: 'same', times: 94, why: 'the other requests to the API' },
  { operation: 'revoke', times: 1, why: 'signing out' },
]

const PEOPLE = 1_000_000
const DAY = 86_400
/** The traffic of the busiest hour, as a multiple of the average. */
const PEAK = 3

export type Cost = { operation: string; times: number; why: string; microseconds: number; coreHours: number }

/** Empty if the part did not measure all operations. */
export function costsOf(part: PartResult): Cost[] {
  const costs = A_DAY.flatMap(({ operation, times, why }) => {
    const result = resultOf(part, operation, 'grantor')
    if (!result) return []
    const microseconds = median(result.processorMicroseconds)
    const coreHours = (PEOPLE * times * microseconds) / 1e6 / 3600
    return [{ operation: OPERATIONS[operation].name, times, why, microseconds, coreHours }]
  })
  return costs.length === A_DAY.length ? costs : []
}

/** The number of busy cores, on average and in the busiest hour. */
export function coresFor(costs: Cost[]): { average: number; peak: number } {
  const average = costs.reduce((total, { coreHours }) => total + coreHours * 3600, 0) / DAY
  return { average, peak: average * PEAK }
}
