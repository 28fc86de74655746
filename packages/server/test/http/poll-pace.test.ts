import { expect, test } from 'vitest'
import { createInTurn } from '../../src/http/in-turn.ts'
import { createPollPace } from '../../src/http/poll-pace.ts'

test('A poll within the interval is too soon, and the next one counts from it', () => {
  let at = 1000
  const pace = createPollPace({ now: () => at })
  const polls: boolean[] = []
  for (const seconds of [0, 3, 3, 4, 5]) {
    at += seconds
    polls.push(pace.isTooSoon('a', 5))
  }
  expect(polls).toEqual([false, true, true, false, false])
})

test('A poll after the clock jumped back is not too soon', () => {
  let at = 1000
  const pace = createPollPace({ now: () => at })
  pace.isTooSoon('a', 5)
  at = 10
  expect(pace.isTooSoon('a', 5)).toBe(false)
})

test('At most the given number of keys stays in memory, the latest ones', () => {
  const pace = createPollPace({ now: () => 1000, maxKeys: 2 })
  for (const key of ['a', 'b', 'a', 'c']) pace.isTooSoon(key, 5)
  expect(['a', 'c'].map((key) => pace.isTooSoon(key, 5))).toEqual([true, true])
  expect(pace.isTooSoon('b', 5)).toBe(false)
})

test('Tasks of one key run one after the other, also after a failure, and tasks of other keys beside them', async () => {
  const inTurn = createInTurn()
  const order: string[] = []
  const task =
    (name: string, fails = false) =>
    async () => {
      order.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      order.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const all = await Promise.allSettled([inTurn('x', task('a', true)), inTurn('x', task('b')), inTurn('y', task('c'))])
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(order.indexOf('b begins')).toBeGreaterThan(order.indexOf('a ends'))
  expect(order.indexOf('c begins')).toBeLessThan(order.indexOf('a ends'))
})
