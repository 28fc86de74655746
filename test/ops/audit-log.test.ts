import { expect, test } from 'vitest'
import { createAuditLog } from '../../src/ops/audit-log.ts'
import { createLogger, type LogLevel } from '../../src/ops/logger.ts'
import { capturedLog } from './captured-log.ts'

function audited(level: LogLevel, event: Parameters<ReturnType<typeof createAuditLog>>[0]) {
  const log = capturedLog()
  createAuditLog(createLogger({ level, destination: log.destination }))(event)
  return log.lines()
}

const event = {
  event: 'code_refused',
  reason: 'code_replayed',
  client_id: '2cdb1fb5-3b4a-4d3e-9d20-3f1f1f2a9b11',
  wallet: '0xf39F…2266',
}

test('an event tells what happened, why, to whom, and that it is an audit line', () => {
  expect(audited('info', event)).toEqual([expect.objectContaining({ log: 'audit', level: 'info', ...event })])
})

test.each(['fatal', 'error', 'warn', 'debug'] as const)('audit lines are written at log level %s too', (level) => {
  expect(audited(level, event)).toHaveLength(1)
})

test('silent means silent', () => {
  expect(audited('silent', event)).toEqual([])
})

test('an alarm stands out as an error', () => {
  expect(audited('info', { event: 'store_lost_a_write', reason: 'refresh_newer_than_row', alarm: true })[0]).toMatchObject({
    level: 'error',
    msg: 'alarm',
  })
})

test('a line written by hand is the logger’s own line, and names the worker that wrote it', () => {
  const log = capturedLog()
  const logger = createLogger({ level: 'info', destination: log.destination }).child({ worker: 2 })
  const plain = { event: 'code_redeemed', client_id: event.client_id, grant_id: '019a8f3c-1b2d-7001-9b1f-0242ac120002' }
  createAuditLog(logger)(plain)
  logger.child({ log: 'audit' }).info(plain, 'audit')
  const [byHand, byLogger] = log.lines().map((line) => JSON.stringify({ ...line, time: null }))
  expect(byHand).toBe(byLogger)
})

test('what is no word or id of ours is cleaned like any other line, quotes and secrets included', () => {
  const hostile = { event: 'refused', reason: '"} Bearer aGVsbG8tdGhlcmU', client_id: 'x'.repeat(43) }
  expect(audited('info', hostile)).toEqual([
    expect.objectContaining({ event: 'refused', reason: '"} Bearer [redacted]', client_id: '[redacted]' }),
  ])
})
