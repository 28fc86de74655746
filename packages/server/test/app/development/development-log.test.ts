import { expect, test } from 'vitest'
import { developmentLog } from '../../../src/app/development/development-log.ts'
import { createAuditLog } from '../../../src/observability/log/audit-log.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'

function linesOf(write: (logger: ReturnType<typeof createLogger>) => void): string[] {
  const lines: string[] = []
  write(createLogger({ level: 'info', destination: developmentLog((line) => lines.push(line)) }))
  return lines
}

test('The development log has one short line per request: server, method, route, status, milliseconds', () => {
  const [line] = linesOf((logger) =>
    logger
      .child({ server: 'auth' })
      .info({ method: 'POST', route: '/oauth/token', status: 200, ms: 3.24, reqId: 'r' }, 'request'),
  )
  expect(line).toMatch(/^ {3}\d\d:\d\d:\d\d auth {2}POST \/oauth\/token 200 3 ms$/)
})

test('The development log has a line per audit event, with its name, reason and wallet', () => {
  const [line] = linesOf((logger) =>
    createAuditLog(logger, { refused: {} })({ event: 'refused', reason: 'code_replayed', wallet: '0xf39F…2266' }),
  )
  expect(line).toContain('refused reason=code_replayed wallet=0xf39F…2266')
})

test('The development log has the stack of an error, with secrets redacted', () => {
  const [line] = linesOf((logger) => logger.error({ err: new Error('no answer to Bearer abcdefghijklmnop') }))
  expect(line).toContain('ERROR')
  expect(line).toContain('development-log.test.ts')
  expect(line).not.toContain('abcdefghijklmnop')
})

test('The development log leaves out the lines that a server is listening', () => {
  expect(linesOf((logger) => logger.info('Server listening at http://127.0.0.1:4000'))).toEqual([])
})
