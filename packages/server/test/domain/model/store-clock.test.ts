/** A node's clock if the store has a clock of its own. */
import { expect, test } from 'vitest'
import { createStoreClock } from '../../../src/domain/model/store-clock.ts'

/** A node whose own clock shows 5,000 and can be set to any time, and a monotonic timer that the test advances. */
function nodeWith(ownClock = 5000) {
  const world = { own: ownClock, elapsed: 70 }
  const clock = createStoreClock(
    () => world.own,
    () => world.elapsed,
  )
  return {
    clock,
    world,
    /**
     * a read of the store's clock: the response takes `took` seconds, and the store reads its clock at the end of them or at
     * the beginning
     */
    ask(at: number, took = 0, readAt: 'late' | 'early' = 'late') {
      const sentAt = world.elapsed
      world.elapsed += took
      clock.correct(readAt === 'late' ? at + took : at, sentAt)
    },
  }
}

test('Until the first response of the store, a node uses its own clock', () => {
  const { clock, world } = nodeWith()
  expect(clock.now()).toBe(5000)
  world.own = 5600
  expect(clock.now()).toBe(5600)
})

test("From the first response on, a node uses the store's clock, even if its own clock is set to another time", () => {
  const { clock, world, ask } = nodeWith()
  ask(1000.5)
  expect(clock.now()).toBe(1000)
  world.own = 99_999
  expect(clock.now()).toBe(1000)
})

test("While the store does not respond, a node's clock advances by its monotonic timer", () => {
  const { clock, world, ask } = nodeWith()
  ask(1000.5)
  world.elapsed += 3600
  world.own = 0
  expect(clock.now()).toBe(4600)
})

test("If the store's clock is set forward or back, a node follows with the next response", () => {
  const { clock, ask } = nodeWith()
  ask(1000)
  ask(1600)
  expect(clock.now()).toBe(1600)
  ask(400)
  expect(clock.now()).toBe(400)
})

test("A slow response corrects a node's clock only as far as the response proves", () => {
  const { clock, ask } = nodeWith()
  ask(1000.5)
  ask(1000.5, 2, 'late')
  expect(clock.now(), 'the store read its clock just before it responded').toBe(1002)
  ask(1002.5, 2, 'early')
  expect(clock.now(), 'the store read its clock at once').toBe(1004)
})

test('After a slow first response the clock is wrong by half of its duration at most, and the next quick response corrects it', () => {
  const { clock, ask } = nodeWith()
  ask(1000.25, 1, 'early')
  expect(clock.now()).toBe(1000)
  ask(1001.25)
  expect(clock.now()).toBe(1001)
})
