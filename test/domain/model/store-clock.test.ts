/** A node's clock where the store tells its own time. */
import { expect, test } from 'vitest'
import { createStoreClock } from '../../../src/domain/model/store-clock.ts'

/** A node whose own clock shows 5,000 and is set now and then, and a second hand that goes on by itself. */
function nodeWith(ownClock = 5000) {
  const world = { own: ownClock, elapsed: 70 }
  const clock = createStoreClock(
    () => world.own,
    () => world.elapsed,
  )
  return {
    clock,
    world,
    /** the store is asked, answers after `took` seconds, and looked at its clock at the end of them or at the beginning */
    ask(at: number, took = 0, looked: 'late' | 'early' = 'late') {
      const asked = world.elapsed
      world.elapsed += took
      clock.correct(looked === 'late' ? at + took : at, asked)
    },
  }
}

test('until the store was heard the node’s own clock counts', () => {
  const { clock, world } = nodeWith()
  expect(clock.now()).toBe(5000)
  world.own = 5600
  expect(clock.now()).toBe(5600)
})

test('from the first answer on the store’s clock counts, and the node’s own may be set to anything', () => {
  const { clock, world, ask } = nodeWith()
  ask(1000.5)
  expect(clock.now()).toBe(1000)
  world.own = 99_999
  expect(clock.now()).toBe(1000)
})

test('while the store does not answer time goes on', () => {
  const { clock, world, ask } = nodeWith()
  ask(1000.5)
  world.elapsed += 3600
  world.own = 0
  expect(clock.now()).toBe(4600)
})

test('a store whose clock is set is followed with its next answer, either way', () => {
  const { clock, ask } = nodeWith()
  ask(1000)
  ask(1600)
  expect(clock.now()).toBe(1600)
  ask(400)
  expect(clock.now()).toBe(400)
})

test('an answer that took long moves the clock no further than it proves', () => {
  const { clock, ask } = nodeWith()
  ask(1000.5)
  ask(1000.5, 2, 'late')
  expect(clock.now(), 'it looked just before it answered').toBe(1002)
  ask(1002.5, 2, 'early')
  expect(clock.now(), 'it looked at once').toBe(1004)
})

test('a slow first answer is off by half of what it took at most, and the next quick one puts that right', () => {
  const { clock, ask } = nodeWith()
  ask(1000.25, 1, 'early')
  expect(clock.now()).toBe(1000)
  ask(1001.25)
  expect(clock.now()).toBe(1001)
})
