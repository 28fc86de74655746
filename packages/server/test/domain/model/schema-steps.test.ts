/** Different versions on one database: which program may use which schema. */
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
  ['one newer step that is compatible', taken([1, 1], [2, 2], [3, 3], [4, 3]), null],
  ['two newer steps that are compatible', taken([1, 1], [2, 2], [3, 3], [4, 2], [5, 3]), null],
  ['one newer step that is incompatible', taken([1, 1], [2, 2], [3, 3], [4, 4]), NEWER],
  ['a compatible newer step, then an incompatible one', taken([1, 1], [2, 2], [3, 3], [4, 3], [5, 4]), NEWER],
  ['an incompatible newer step, then a compatible one', taken([1, 1], [2, 2], [3, 3], [4, 4], [5, 3]), NEWER],
  ['one newer step that names no compatible version', taken([1, null], [2, null], [3, null], [4, null]), NEWER],
  ['one step missing', taken([1, 1], [2, 2]), /^The database is not up to date\. Run: grantor migrate$/],
  ['no steps', [], /grantor migrate/],
] as const)('A program that knows steps 1 to 3 checks a database with %s', (_, steps, refusal) => {
  const open = () => requireWorkable(KNOWN, steps)
  if (refusal === null) expect(open).not.toThrow()
  else {
    expect(open).toThrow(SchemaMismatch)
    expect(open).toThrow(refusal)
  }
})

test('A pending step states if servers of the version before can keep running while it is taken', () => {
  const known = [...KNOWN, step(4, 3), step(5, 4)]
  const before = taken([1, 1], [2, 2], [3, 3])
  const pending = pendingSteps(known, before)
  expect(pending.map(({ number }) => number)).toEqual([4, 5])
  expect(pending.map((each) => isTakenWhileServing(each, before))).toEqual([true, false])
})

test.each([
  ['without the version that a step allows', taken([1, null], [2, null])],
  ['with all steps before the first one', taken([1, 1], [16, 13])],
  ['with a step of its own after them', taken([16, 13], [17, 17])],
] as const)('A program whose first step is 17 refuses a database of steps before it, %s', (_, steps) => {
  const known = [step(17)]
  for (const use of [() => requireWorkable(known, steps), () => pendingSteps(known, steps)]) {
    expect(use).toThrow(SchemaMismatch)
    expect(use).toThrow(/before the first release.*grantor export.*grantor migrate and grantor apply.*new database/)
  }
})
