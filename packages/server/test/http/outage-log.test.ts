import { expect, test } from 'vitest'
import { createOutageLog, messagesOf } from '../../src/http/outage-log.ts'
import { createLogger } from '../../src/observability/log/logger.ts'
import { capturedLog } from '../observability/log/captured-log.ts'
import { TestClock } from '../support/start.ts'

function start() {
  const [log, clock] = [capturedLog(), new TestClock()]
  const logger = createLogger({ level: 'info', destination: log.destination })
  const words = { begun: 'begun', continues: 'continues', ended: 'ended' }
  const noted: number[][] = []
  const note = ({ since, failedAt }: { since: number; failedAt: number }) => void noted.push([since, failedAt])
  const outage = createOutageLog({ logger, now: clock.now, words, note })
  const lines = () => log.lines().map(({ msg, level, failures, seconds }) => ({ msg, level, failures, seconds }))
  return { clock, outage, lines, log, noted }
}

test('An outage of 75 s with thousands of failures is one line at its begin, one a minute with the count, and one at its end', () => {
  const { clock, outage, lines, log, noted } = start()
  const begin = clock.now()
  outage.works()
  for (let second = 0; second < 75; second++) {
    for (let n = 0; n < 80; n++) outage.failed({ problem: 'connection refused' })
    clock.advance(1)
  }
  for (let second = 0; second < 20; second++) {
    outage.works()
    clock.advance(1)
  }
  expect(lines()).toEqual([
    { msg: 'begun', level: 'error' },
    { msg: 'continues', level: 'error', failures: 4801, seconds: 60 },
    { msg: 'ended', level: 'info', failures: 6000, seconds: 74 },
  ])
  expect(log.lines()[0]).toMatchObject({ problem: 'connection refused' })
  expect(noted).toEqual([
    [begin, begin + 60],
    [begin, begin + 74],
  ])
})

test('If reads work while writes fail, the outage goes on until ten seconds have passed without a failure', () => {
  const { clock, outage, lines } = start()
  for (let second = 0; second < 30; second++) {
    outage.works()
    if (second % 9 === 0) outage.failed({ problem: 'the disk is full' })
    clock.advance(1)
  }
  expect(lines().map(({ msg }) => msg)).toEqual(['begun'])
  clock.advance(7)
  outage.works()
  expect(lines().map(({ msg }) => msg)).toEqual(['begun', 'ended'])
  outage.failed({ problem: 'the disk is full' })
  expect(lines().map(({ msg }) => msg)).toEqual(['begun', 'ended', 'begun'])
})

test('A line about an outage has the messages of the error and of its causes, each once, and no stack', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432')
  const store = new Error('PostgreSQL cannot be used (ECONNREFUSED)', { cause: refused })
  expect(messagesOf(new Error('a delivery was interrupted', { cause: store }))).toBe(
    'a delivery was interrupted: PostgreSQL cannot be used (ECONNREFUSED): connect ECONNREFUSED 127.0.0.1:5432',
  )
  const disk = new Error('the file cannot be used (disk full)', { cause: new Error('disk full') })
  expect(messagesOf(disk)).toBe('the file cannot be used (disk full)')
})
