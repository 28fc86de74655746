import { expect, test } from 'vitest'
import { createAuditLog, type LoggedEvent } from '../../../src/observability/log/audit-log.ts'
import { createLogger, type LogLevel } from '../../../src/observability/log/logger.ts'
import { capturedLog } from './captured-log.ts'

const events = { code_redeemed: {}, refused: {}, grant_ended: { lasting: true }, store_lost_a_write: { alarm: true } } as const

function auditLinesOf(level: LogLevel, event: LoggedEvent<keyof typeof events>) {
  const log = capturedLog()
  createAuditLog(createLogger({ level, destination: log.destination }), events)(event)
  return log.lines()
}

const event = {
  event: 'refused',
  reason: 'code_replayed',
  client_id: '2cdb1fb5-3b4a-4d3e-9d20-3f1f1f2a9b11',
  wallet: '0xf39F…2266',
} as const

test('An audit line has the event, its reason, client and wallet, and is marked as an audit line', () => {
  expect(auditLinesOf('info', event)).toEqual([expect.objectContaining({ log: 'audit', level: 'info', ...event })])
})

test.each(['fatal', 'error', 'warn', 'debug'] as const)('An audit line is written also at log level %s', (level) => {
  expect(auditLinesOf(level, event)).toHaveLength(1)
})

test('At log level silent, no audit line is written', () => {
  expect(auditLinesOf('silent', event)).toEqual([])
})

test('An audit event that is an alarm is logged at level error', () => {
  expect(auditLinesOf('info', { event: 'store_lost_a_write' })).toEqual([
    expect.objectContaining({ level: 'error', msg: 'alarm', alarm: true }),
  ])
})

test('An audit line has the number of the worker that wrote it', () => {
  const log = capturedLog()
  const logger = createLogger({ level: 'info', destination: log.destination }).child({ worker: 2 })
  createAuditLog(logger, events)({ event: 'code_redeemed', client_id: event.client_id })
  expect(log.lines()).toEqual([expect.objectContaining({ worker: 2, log: 'audit', event: 'code_redeemed' })])
})

test.each(['info', 'error', 'debug'] as const)(
  'At log level %s, the log is flushed after an event that must survive a crash, and not after other events',
  (level) => {
    const calls: string[] = []
    const destination = {
      write: (line: string) => calls.push((JSON.parse(line) as { event: string }).event),
      flush: () => calls.push('flush'),
    }
    const audit = createAuditLog(createLogger({ level, destination }).child({ worker: 2 }), events)
    for (const name of ['code_redeemed', 'grant_ended', 'refused'] as const) audit({ event: name })
    expect(calls).toEqual(['code_redeemed', 'grant_ended', 'flush', 'refused'])
  },
)

test('Secrets in the members of an audit event are redacted, and quotes are escaped', () => {
  const hostile = { event: 'refused' as const, reason: '"} Bearer aGVsbG8tdGhlcmU', client_id: 'x'.repeat(43) }
  expect(auditLinesOf('info', hostile)).toEqual([
    expect.objectContaining({ event: 'refused', reason: '"} Bearer [redacted]', client_id: '[redacted]' }),
  ])
})
