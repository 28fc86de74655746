import { expect, test } from 'vitest'
import { createAuditLog } from '../../src/ops/audit-log.ts'
import { createLogger, type LogLevel } from '../../src/ops/logger.ts'
import { capturedLog } from './captured-log.ts'

function audited(level: LogLevel, event: Parameters<ReturnType<typeof createAuditLog>>[0]) {
  const log = capturedLog()
  createAuditLog(createLogger({ level, destination: log.destination }), new Set())(event)
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

test('an audit line names the worker that wrote it', () => {
  const log = capturedLog()
  const logger = createLogger({ level: 'info', destination: log.destination }).child({ worker: 2 })
  createAuditLog(logger, new Set())({ event: 'code_redeemed', client_id: event.client_id })
  expect(log.lines()).toEqual([expect.objectContaining({ worker: 2, log: 'audit', event: 'code_redeemed' })])
})

test.each(['info', 'error', 'debug'] as const)(
  'at log level %s, the log is flushed after an event that must survive a crash, and not after another event',
  (level) => {
    const calls: string[] = []
    const destination = {
      write: (line: string) => calls.push((JSON.parse(line) as { event: string }).event),
      flush: () => calls.push('flush'),
    }
    const audit = createAuditLog(createLogger({ level, destination }).child({ worker: 2 }), new Set(['grant_ended']))
    for (const name of ['code_redeemed', 'grant_ended', 'code_issued']) audit({ event: name })
    expect(calls).toEqual(['code_redeemed', 'grant_ended', 'flush', 'code_issued'])
  },
)

test('what is no word or id of ours is cleaned like any other line, quotes and secrets included', () => {
  const hostile = { event: 'refused', reason: '"} Bearer aGVsbG8tdGhlcmU', client_id: 'x'.repeat(43) }
  expect(audited('info', hostile)).toEqual([
    expect.objectContaining({ event: 'refused', reason: '"} Bearer [redacted]', client_id: '[redacted]' }),
  ])
})
