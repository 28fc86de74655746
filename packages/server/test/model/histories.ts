/** Reads the histories that packages/server/test/model/ledger.pml prints with -DTRACE, as operations of one grant. */
import type { Operation } from '../chaos/order/operations.ts'
import type { Step } from '../chaos/order/specification.ts'

/** `events` as in ledger.pml: the number of the process times 32, plus what happened. `hasCode`: the grant begins as a code. */
export function operationsOfModel(events: readonly number[], hasCode: boolean): Operation[] {
  const received = new Map([[1, 'token 1']])
  const operations = [operation(-4, -3, { op: 'issue' })]
  if (!hasCode) operations.push(operation(-2, -1, { op: 'redeem', outcome: 'tokens', successor: 'token 1' }))
  for (const [time, event] of events.entries()) {
    const [process, what] = [event >> 5, event & 31]
    if (what === SEEN_ACTIVE || what === SEEN_ENDED) {
      operations.push(
        operation(time, time, { op: 'introspect', token: 'a', outcome: what === SEEN_ACTIVE ? 'active' : 'inactive' }),
      )
      continue
    }
    if (what > BEGIN_END) continue
    const end = events.findIndex((each, index) => index > time && each >> 5 === process)
    const response = end < 0 ? null : (events[end] as number) & 31
    operations.push(operation(time, end < 0 ? Number.POSITIVE_INFINITY : end, stepOf(what, response, received)))
  }
  return operations
}

const BEGIN_END = 4
const REFUSED_OR_DONE = 5
const SEEN_ACTIVE = 6
const SEEN_ENDED = 7
const GOT_TOKENS = 8

const operation = (begin: number, end: number, step: Step): Operation => ({ begin, end, step }) as Operation

/** The model does not depend on clocks: at each decision, the retry window is open or closed. Its codes do not expire. */
function stepOf(begin: number, response: number | null, received: Map<number, string>): Step {
  if (begin === BEGIN_END) return { op: 'end', outcome: response === REFUSED_OR_DONE ? 'done' : 'unknown' }
  const generation = response === null ? 0 : Math.floor((response - GOT_TOKENS) / 4) + 1
  // A client names a token by its number. A second token with the number is another token, which no client uses.
  const successor = `token ${generation} with key ${response}`
  const isTokens = response !== null && response >= GOT_TOKENS
  if (isTokens && !received.has(generation)) received.set(generation, successor)
  const failure = response === REFUSED_OR_DONE ? 'refused' : 'unknown'
  if (begin === 0) {
    if (isTokens) received.set(1, successor)
    return isTokens ? { op: 'redeem', outcome: 'tokens', successor } : { op: 'redeem', outcome: failure }
  }
  const token = received.get(begin) ?? `token ${begin}`
  return isTokens
    ? { op: 'refresh', token, outcome: 'tokens', successor }
    : { op: 'refresh', token, outcome: failure, isLate: true }
}
