/** Porcupine and the search of this folder agree. */
import { expect, test } from 'vitest'
import { RULES } from '../history-builder.ts'
import { seeded } from '../random.ts'
import { checkOrder } from './index.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { checkWithPorcupine, whyPorcupineCannotRun } from './porcupine.ts'
import { randomHistory } from './random-history.ts'
import { findContradiction } from './search.ts'

const MINUTE = 60_000

test('Porcupine finds every planted fault', { timeout: 5 * MINUTE }, async ({ skip }) => {
  const reason = whyPorcupineCannotRun()
  if (reason) return skip(reason)
  const histories = PLANTED_FAULTS.flatMap(([, { entries }]) => checkOrder(entries, RULES).searched)
  expect(await checkWithPorcupine(histories)).toMatchObject({ ok: 0, illegal: histories, undecided: 0 })
})

test('Porcupine and the search agree about random histories', { timeout: 5 * MINUTE }, async ({ skip }) => {
  const reason = whyPorcupineCannotRun()
  if (reason) return skip(reason)
  const random = seeded(20261127)
  const histories = Array.from({ length: 3000 }, () => randomHistory(random))
  const contradicted = histories.filter((operations) => findContradiction(operations) !== null)
  expect(await checkWithPorcupine(histories)).toMatchObject({
    ok: histories.length - contradicted.length,
    illegal: contradicted,
    undecided: 0,
  })
})
