/** Versions side by side: which program may work on which database. */
import { expect, test } from 'vitest'
import { isTakenWhileServing, pendingSteps, requireWorkable, type TakenStep } from '../../../src/domain/model/schema-steps.ts'
import { SchemaMismatch } from '../../../src/domain/model/store-errors.ts'

const step = (number: number, oldest = number) => ({ number, name: `step ${number}`, oldest })
const taken = (...steps: [number: number, oldest: number | null][]): TakenStep[] =>
  steps.map(([number, oldest]) => ({ number, name: `step ${number}`, oldest, applied_at: 0 }))

const KNOWN = [step(1), step(2), step(3)]
const NEWER = /^The database was made by a newer version of grantor than this one\. Use that version\.$/

test.each([
  ['the same steps', taken([1, 1], [2, 2], [3, 3]), null],
  ['one step more that only adds', taken([1, 1], [2, 2], [3, 3], [4, 3]), null],
  ['several that only add', taken([1, 1], [2, 2], [3, 3], [4, 2], [5, 3]), null],
  ['one more that takes away', taken([1, 1], [2, 2], [3, 3], [4, 4]), NEWER],
  ['one that adds, then one that takes away what was before it', taken([1, 1], [2, 2], [3, 3], [4, 3], [5, 4]), NEWER],
  ['one that takes away, then one that adds', taken([1, 1], [2, 2], [3, 3], [4, 4], [5, 3]), NEWER],
  ['one more of a version that does not say', taken([1, null], [2, null], [3, null], [4, null]), NEWER],
  ['a step less', taken([1, 1], [2, 2]), /^The database is not up to date\. Run: grantor migrate$/],
  ['none', [], /grantor migrate/],
] as const)('a program of step 3 on a database with %s', (_, steps, refusal) => {
  const open = () => requireWorkable(KNOWN, steps)
  if (refusal === null) expect(open).not.toThrow()
  else {
    expect(open).toThrow(SchemaMismatch)
    expect(open).toThrow(refusal)
  }
})

test('a step that is pending says whether the servers of the version before may go on', () => {
  const known = [...KNOWN, step(4, 3), step(5, 4)]
  const before = taken([1, 1], [2, 2], [3, 3])
  const pending = pendingSteps(known, before)
  expect(pending.map(({ number }) => number)).toEqual([4, 5])
  expect(pending.map((each) => isTakenWhileServing(each, before))).toEqual([true, false])
})
