/** Short random histories of one grant, for the tests of the search. */
import type { Random } from '../random.ts'
import type { Operation } from './operations.ts'
import { next, START, type State, type Step } from './specification.ts'

const STEPS: readonly Step[] = [
  { op: 'redeem', outcome: 'tokens', successor: 'r1' },
  { op: 'redeem', outcome: 'refused' },
  { op: 'redeem', outcome: 'unknown' },
  { op: 'refresh', token: 'r1', outcome: 'tokens', successor: 'r2' },
  { op: 'refresh', token: 'r1', outcome: 'tokens', successor: 'r2' },
  { op: 'refresh', token: 'r1', outcome: 'tokens', successor: 'r2' },
  { op: 'refresh', token: 'r2', outcome: 'tokens', successor: 'r3' },
  { op: 'refresh', token: 'r1', outcome: 'refused', isLate: false },
  { op: 'refresh', token: 'r1', outcome: 'refused', isLate: true },
  { op: 'refresh', token: 'r1', outcome: 'unknown', isLate: false },
  { op: 'introspect', token: 'a1', outcome: 'active' },
  { op: 'introspect', token: 'a1', outcome: 'inactive' },
  { op: 'revoke', token: 'a1', outcome: 'done' },
  { op: 'revoke', token: 'a1', outcome: 'unknown' },
  { op: 'end', outcome: 'done' },
  { op: 'end', outcome: 'unknown' },
  { op: 'void', outcome: 'done' },
]

/** Up to eight operations: often several that are equal, and many that follow the specification at some moment of their time. */
export function randomHistory(random: Random): Operation[] {
  const operation = (begin: number, end: number, step: Step) => ({ begin, end, step }) as Operation
  const operations = [operation(0, random.below(3), { op: 'issue' })]
  let state = next(START, { op: 'issue' })[0] as State
  const choices = Array.from({ length: 4 }, () => random.pick(STEPS))
  for (let time = 4; operations.length < 8; time += 4) {
    const step = random.pick(choices)
    const [after] = next(state, step)
    if (after === undefined && random.below(5) > 0 && time < 200) continue
    state = after ?? state
    const isOpen = 'outcome' in step && step.outcome === 'unknown' && random.below(2) === 0
    const end = isOpen ? Number.POSITIVE_INFINITY : time + random.below(12)
    operations.push(operation(Math.max(random.below(2), time - random.below(12)), end, step))
  }
  return operations
}
