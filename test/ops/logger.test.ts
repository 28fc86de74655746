import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLogger } from '../../src/ops/logger.ts'
import { processorMs } from '../support/processor-time.ts'
import { runs } from '../support/runs.ts'
import { capturedLog } from './captured-log.ts'

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const SIGNATURE = `0x${'ab'.repeat(65)}`
const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'
const CODE = 'Zk3vQ9xT1mB7rY2nC5wE8uH4jL6pA0sD-fG_iKoMqVz'

/** What the log holds after `write` was given the logger. */
function logged(write: (logger: ReturnType<typeof createLogger>) => void, secrets: string[] = []): string {
  const log = capturedLog()
  write(createLogger({ level: 'trace', destination: log.destination, secrets }))
  log.lines() // every line is still JSON
  return log.text()
}

describe('nothing secret reaches the log', () => {
  test.each([
    'authorization',
    'Authorization',
    'cookie',
    'set-cookie',
    'client_secret',
    'code',
    'code_verifier',
    'token',
    'access_token',
    'refresh_token',
    'subject_token',
    'actor_token',
    'login_challenge',
    'login_verifier',
    'signature',
    'state',
  ])('the value of a member called %s is taken out, at any depth', (name) => {
    const text = logged((logger) =>
      logger.info({ [name]: 'short-one', request: { headers: { [name]: ['first', 'second'] } } }, 'hello'),
    )
    expect(text).toContain('hello')
    expect(text).not.toMatch(/short-one|first|second/)
  })

  test.each([
    ['an access token', TOKEN],
    ['an authorization code or refresh token', CODE],
    ['a signature', SIGNATURE],
    ['Basic credentials', 'Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW'],
    ['a bearer token', 'Bearer mF_9.B5f-4.1JqM'],
  ])('%s is taken out wherever it appears: message, member, list, error', (_what, secret) => {
    const [start] = secret.split(/[ .]/).slice(-1)
    const text = logged((logger) => {
      logger.warn(`failed with ${secret}`)
      logger.warn({ note: `failed with ${secret}`, list: [secret] })
      logger.error({ err: new Error(`failed with ${secret}`) })
      logger.error(new Error(`failed with ${secret}`))
      logger.child({ bound: secret }).info('x')
    })
    expect(text).not.toContain(start)
    expect(text.match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(6)
  })

  test('the query of a URL is taken out, and its path stays', () => {
    const text = logged((logger) => {
      logger.info({ url: '/oauth/authorize?client_id=abc&state=xyz' })
      logger.info('fetching https://auth.example.com/login/complete?login_verifier=v1#code=c1 failed')
    })
    expect(text).toContain('/oauth/authorize?[redacted]')
    expect(text).toContain('https://auth.example.com/login/complete?[redacted]')
    expect(text).not.toMatch(/xyz|v1|c1/)
  })

  test('a body that was logged as text loses its codes and secrets', () => {
    const text = logged((logger) => {
      logger.info({ body: 'grant_type=authorization_code&code=c0de&client_secret=s3cret' })
      logger.info({ body: JSON.stringify({ login_challenge: 'ch4llenge', address: 'x' }) })
    })
    expect(text).toContain('grant_type=authorization_code')
    expect(text).not.toMatch(/c0de|s3cret|ch4llenge/)
  })

  test('a wallet is shortened, so that an operator still recognises it', () => {
    const text = logged((logger) => logger.info({ wallet: ADDRESS }, `signed in ${ADDRESS.toLowerCase()}`))
    expect(text).toContain('0xf39F…2266')
    expect(text).toContain('0xf39f…2266')
    expect(text.toLowerCase()).not.toContain(ADDRESS.toLowerCase())
  })

  test('the configured secrets are taken out even where nothing else betrays them', () => {
    const secret = 'not "random" at all, but 32 long'
    const text = logged((logger) => logger.info({ note: `<${secret}>` }), [secret])
    expect(text).not.toContain('not \\"random')
  })

  test('random secrets of every length stay out whatever they are put into', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 200 }),
        fc.constantFrom<(secret: string) => unknown>(
          (secret) => secret,
          (secret) => ({ deep: { deeper: [secret] } }),
          (secret) => new Error(secret),
          (secret) => ({ [secret]: 1 }),
        ),
        (bytes, wrapped) => {
          const secret = Buffer.from(bytes).toString('base64url')
          expect(logged((logger) => logger.info({ about: wrapped(secret) }))).not.toContain(secret)
        },
      ),
      { numRuns: runs },
    )
  })

  test('a hostile line of 64 kB is cleaned in less than 100 ms of processor time', () => {
    for (const evil of ['/', '?', '?a=', 'eyJ', 'Basic ', '"code":"', '"code":[', 'code\\":\\"', '0x', 'token=']) {
      const line = evil.repeat(65_536 / evil.length)
      expect(processorMs(() => logged((logger) => logger.info(line)))).toBeLessThan(100)
    }
  })
})

describe('what an operator needs stays readable', () => {
  test('request ids, client ids, routes, error codes and stacks are left alone', () => {
    const id = '2cdb1fb5-3b4a-4d3e-9d20-3f1f1f2a9b11'
    const log = capturedLog()
    const logger = createLogger({ level: 'info', destination: log.destination })
    logger.error({
      reqId: id,
      client_id: id,
      route: '/oauth/token',
      err: Object.assign(new Error('no answer'), { code: 'ECONNREFUSED' }),
    })
    expect(log.lines()[0]).toMatchObject({ reqId: id, client_id: id, route: '/oauth/token', err: { code: 'ECONNREFUSED' } })
    expect(log.lines()[0]?.err.stack).toContain('logger.test.ts')
  })

  test('each line says its level in words and its time in UTC', () => {
    const log = capturedLog()
    createLogger({ level: 'info', destination: log.destination }).warn('careful')
    expect(log.lines()[0]).toMatchObject({ level: 'warn', msg: 'careful', time: expect.stringMatching(/^\d{4}-.*Z$/) })
  })
})
