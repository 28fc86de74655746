import { expect, test } from 'vitest'
import { createRefusedSenders, READ_AT_MOST } from '../../../src/observability/metrics/refused-senders.ts'
import { TestClock } from '../../support/start.ts'

function start() {
  const clock = new TestClock()
  clock.at = 1_800_000_000
  return { clock, senders: createRefusedSenders(clock.now) }
}

const sender = (network: string, reason = 'secret_wrong') => ({ network, client: 'none', reason })

test('Refusals are counted by network, client and reason, the most frequent first, and forgotten after an hour', () => {
  const { clock, senders } = start()
  senders.count(sender('203.0.113'))
  clock.advance(1800)
  for (let n = 0; n < 2; n++) senders.count(sender('203.0.113'))
  senders.count(sender('203.0.113', 'code_unknown'))
  expect(senders.read()).toEqual({
    senders: [
      { ...sender('203.0.113'), count: 3 },
      { ...sender('203.0.113', 'code_unknown'), count: 1 },
    ],
    others: 0,
  })
  clock.advance(3600)
  expect(senders.read()).toEqual({ senders: [], others: 0 })
})

test('Refusals from 100,000 networks take the memory of 100, and do not displace a sender of many requests', () => {
  const { senders } = start()
  for (let n = 0; n < 100_000; n++) {
    senders.count(sender(`10.${n >> 8}.${n & 255}`))
    if (n % 50 === 0) senders.count(sender('203.0.113'))
  }
  const reading = senders.read()
  expect(reading.senders).toHaveLength(READ_AT_MOST)
  expect(reading.senders[0]).toEqual({ ...sender('203.0.113'), count: 2000 })
  expect(reading.senders.reduce((sum, { count }) => sum + count, reading.others)).toBe(102_000)
})
