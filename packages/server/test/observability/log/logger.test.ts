import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLogger } from '../../../src/observability/log/logger.ts'
import { processorMs } from '../../support/processor-time.ts'
import { forAll } from '../../support/property.ts'
import { capturedLog } from './captured-log.ts'

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const SIGNATURE = `0x${'ab'.repeat(65)}`
const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'
const CODE = 'Zk3vQ9xT1mB7rY2nC5wE8uH4jL6pA0sD-fG_iKoMqVz'

/** The text of the log after `write`. */
function logOf(write: (logger: ReturnType<typeof createLogger>) => void, secrets: string[] = []): string {
  const log = capturedLog()
  write(createLogger({ level: 'trace', destination: log.destination, secrets }))
  log.lines() // every line is still JSON
  return log.text()
}

describe('Redaction of secrets in the log', () => {
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
  ])('The value of a member named %s is redacted in the log, at any depth', (name) => {
    const text = logOf((logger) =>
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
  ])('The log redacts %s in every part of a line: message, member, list, error and child logger', (_what, secret) => {
    const [start] = secret.split(/[ .]/).slice(-1)
    const text = logOf((logger) => {
      logger.warn(`failed with ${secret}`)
      logger.warn({ note: `failed with ${secret}`, list: [secret] })
      logger.error({ err: new Error(`failed with ${secret}`) })
      logger.error(new Error(`failed with ${secret}`))
      logger.child({ bound: secret }).info('x')
    })
    expect(text).not.toContain(start)
    expect(text.match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(6)
  })

  test('The query and the fragment of a URL are redacted in the log, and the path is kept', () => {
    const text = logOf((logger) => {
      logger.info({ url: '/oauth/authorize?client_id=abc&state=xyz' })
      logger.info('fetching https://auth.example.com/login/complete?login_verifier=v1#code=c1 failed')
    })
    expect(text).toContain('/oauth/authorize?[redacted]')
    expect(text).toContain('https://auth.example.com/login/complete?[redacted]')
    expect(text).not.toMatch(/xyz|v1|c1/)
  })

  test('Codes and secrets in a request body that is logOf as text are redacted', () => {
    const text = logOf((logger) => {
      logger.info({ body: 'grant_type=authorization_code&code=c0de&client_secret=s3cret' })
      logger.info({ body: JSON.stringify({ login_challenge: 'ch4llenge', address: 'x' }) })
    })
    expect(text).toContain('grant_type=authorization_code')
    expect(text).not.toMatch(/c0de|s3cret|ch4llenge/)
  })

  test('The address of a wallet is shortened in the log to its first and last four digits', () => {
    const text = logOf((logger) => logger.info({ wallet: ADDRESS }, `signed in ${ADDRESS.toLowerCase()}`))
    expect(text).toContain('0xf39F…2266')
    expect(text).toContain('0xf39f…2266')
    expect(text.toLowerCase()).not.toContain(ADDRESS.toLowerCase())
  })

  test('A configured secret is redacted in the log, even if no pattern of a secret matches it', () => {
    const secret = 'not "random" at all, but 32 long'
    const text = logOf((logger) => logger.info({ note: `<${secret}>` }), [secret])
    expect(text).not.toContain('not \\"random')
  })

  test('A random secret of 32 to 200 bytes is redacted in a text, a nested member, an error and the name of a member', () => {
    forAll(
      fc.uint8Array({ minLength: 32, maxLength: 200 }),
      fc.constantFrom<(secret: string) => unknown>(
        (secret) => secret,
        (secret) => ({ deep: { deeper: [secret] } }),
        (secret) => new Error(secret),
        (secret) => ({ [secret]: 1 }),
      ),
      (bytes, wrapped) => {
        const secret = Buffer.from(bytes).toString('base64url')
        expect(logOf((logger) => logger.info({ about: wrapped(secret) }))).not.toContain(secret)
      },
    )
  })

  test('A hostile log line of 64 kB is redacted in less than 100 ms of processor time', () => {
    for (const evil of ['/', '?', '?a=', 'eyJ', 'Basic ', '"code":"', '"code":[', 'code\\":\\"', '0x', 'token=']) {
      const line = evil.repeat(65_536 / evil.length)
      expect(processorMs(() => logOf((logger) => logger.info(line)))).toBeLessThan(100)
    }
  })
})

describe('What redaction leaves in the log', () => {
  test('Request ids, client ids, routes, error codes and stacks are not redacted in the log', () => {
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

  test('Each log line has its level as a word and its time in UTC', () => {
    const log = capturedLog()
    createLogger({ level: 'info', destination: log.destination }).warn('careful')
    expect(log.lines()[0]).toMatchObject({ level: 'warn', msg: 'careful', time: expect.stringMatching(/^\d{4}-.*Z$/) })
  })
})

test('A word of 43 or more letters, digits, hyphens and underscores is redacted wherever it begins in a line, and a shorter one stays', () => {
  const place = fc.record({
    before: fc.integer({ min: 0, max: 100 }),
    length: fc.integer({ min: 30, max: 130 }),
    character: fc.constantFrom('a', 'Z', '7', '-', '_'),
  })
  forAll(fc.array(place, { minLength: 1, maxLength: 4 }), (places) => {
    const words = places.map(({ length, character }) => character.repeat(length))
    const text = places.map(({ before }, index) => `${' .'.repeat(before)} ${words[index]}`).join('é')
    const { note } = JSON.parse(logOf((logger) => logger.info({ note: text }))) as { note: string }
    expect(note.split(/[ .é]+/).filter(Boolean)).toEqual(words.map((word) => (word.length < 43 ? word : '[redacted]')))
  })
})
