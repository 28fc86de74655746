import { createTokenCheck } from '@grantor/resource'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { LittleIssuer } from './little-issuer.ts'
import { audience, ok, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

let issuer: LittleIssuer
let usual: LittleIssuer['answers']
beforeAll(async () => {
  issuer = await startLittleIssuer()
  usual = { ...issuer.answers }
})
afterAll(() => issuer.close())
beforeEach(() => {
  Object.assign(issuer.answers, usual)
})

function createCheck(options: { fetch?: typeof fetch; issuer?: string } = {}) {
  const introspection = { clientId: 'api', clientSecret: 'secret' }
  return createTokenCheck({ issuer: issuer.url, audience, introspection, now: () => issuer.clock.now, ...options })
}

async function expectUnavailable(
  call: ReturnType<ReturnType<typeof createCheck>>,
  reason: string,
  retryAfter = '5',
): Promise<void> {
  const error = await refusal(call)
  expect([error.status, error.error, error.reason]).toEqual([503, 'temporarily_unavailable', reason])
  expect(error.headers).toEqual({ 'Cache-Control': 'no-store', 'Retry-After': retryAfter })
}

test('If the authorization server is down, a call gets 503 and not invalid_token', async () => {
  const stopped = await startLittleIssuer()
  const check = createCheck({ issuer: stopped.url })
  const token = await stopped.sign()
  await stopped.close()
  await expectUnavailable(check(bearer(token)), 'issuer_unreachable')
})

test('If the authorization server goes down between two calls, the second call gets 503', async () => {
  const stopping = await startLittleIssuer()
  const check = createCheck({ issuer: stopping.url })
  const token = await stopping.sign()
  await expect(check(bearer(token))).resolves.toMatchObject({ wallet })
  await stopping.close()
  await expectUnavailable(check(bearer(token)), 'issuer_unreachable')
})

test('An answer that is too long is read no further than 1 MiB, and the call gets 503', async () => {
  const check = createCheck()
  const long = () => ({ status: 200, json: JSON.stringify({ padding: 'x'.repeat(2_000_000) }) })
  await expect(check(bearer(await issuer.sign()))).resolves.toMatchObject({ wallet })
  issuer.answers.introspect = long
  await expectUnavailable(check(bearer(await issuer.sign())), 'issuer_unreachable')
  issuer.answers.jwks = long
  await expectUnavailable(createCheck()(bearer(await issuer.sign())), 'jwks_unreachable')
})

test('While the keys cannot be fetched, tokens with invented key ids cause one request in a second', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() })
  onTestFinished(() => void vi.useRealTimers())
  const check = createCheck()
  await expect(check(bearer(await issuer.sign()))).resolves.toMatchObject({ wallet })
  issuer.answers.jwks = () => ({ status: 502, json: {} })
  const fetches = async (count: number) => {
    issuer.requests.length = 0
    for (let index = 0; index < count; index++)
      await expectUnavailable(check(bearer(await issuer.sign({}, { kid: `made-up-${index}` }))), 'jwks_unreachable')
    return issuer.requests.filter(({ path }) => path === '/oauth/jwks').length
  }
  vi.advanceTimersByTime(31_000)
  expect(await fetches(20)).toBe(1)
  vi.advanceTimersByTime(1_000)
  expect(await fetches(20)).toBe(1)
  await expect(check(bearer(await issuer.sign()))).resolves.toMatchObject({ wallet })
})

test('An API that started before its authorization server works as soon as the authorization server responds', async () => {
  const check = createCheck()
  issuer.answers.metadata = () => ({ status: 502, json: {} })
  await expectUnavailable(check(bearer(await issuer.sign())), 'issuer_answered_502')
  issuer.answers.metadata = usual.metadata
  issuer.answers.jwks = () => ({ status: 502, json: {} })
  await expectUnavailable(check(bearer(await issuer.sign())), 'jwks_unreachable')
  issuer.answers.jwks = usual.jwks
  await expect(check(bearer(await issuer.sign()))).resolves.toMatchObject({ wallet })
})

describe('Errors of the introspection endpoint', () => {
  test.each([
    [503, '7', '7'],
    [429, '30', '30'],
    [401, undefined, '5'],
    [500, 'Wed, 21 Oct 2026 07:28:00 GMT', '5'],
    [400, '-1', '5'],
  ])(
    'If introspection fails with %i and Retry-After %s, a call gets 503 with a valid Retry-After',
    async (status, retryAfter, expected) => {
      issuer.answers.introspect = () => ({
        status,
        headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
        json: { active: true, error: 'temporarily_unavailable' },
      })
      await expectUnavailable(createCheck()(bearer(await issuer.sign())), `issuer_answered_${status}`, expected)
    },
  )
})

describe('Malformed introspection responses', () => {
  test.each(['', '<html>', 'null', '[]', '{}', '{"active":"true"}', '{"active":1}'])(
    'A malformed introspection response gets 503: %s',
    async (json) => {
      issuer.answers.introspect = () => ({ status: 200, json })
      const error = await refusal(createCheck()(bearer(await issuer.sign())))
      expect(error.status).toBe(503)
    },
  )
})

test('A redirect of the introspection endpoint is not followed, so no credentials are sent to another address', async () => {
  const elsewhere = await startLittleIssuer()
  issuer.answers.introspect = () => ({ status: 307, headers: { location: `${elsewhere.url}/oauth/introspect` }, json: {} })
  await expectUnavailable(createCheck()(bearer(await issuer.sign())), 'issuer_answered_307')
  expect(elsewhere.requests).toHaveLength(0)
  await elsewhere.close()
})

describe('Invalid metadata (RFC 8414 §3.3)', () => {
  test.each([
    ['another issuer', { issuer: 'https://other.example.com' }, 'issuer_mismatch'],
    ['no issuer', { issuer: undefined }, 'issuer_mismatch'],
    ['no key set', { jwks_uri: undefined }, 'jwks_uri_unusable'],
    ['a key set over plain http', { jwks_uri: 'http://auth.example.com/oauth/jwks' }, 'jwks_uri_unusable'],
    ['no introspection endpoint', { introspection_endpoint: undefined }, 'introspection_endpoint_unusable'],
    [
      'an introspection endpoint over plain http',
      { introspection_endpoint: 'http://auth.example.com/introspect' },
      'introspection_endpoint_unusable',
    ],
  ])('If the metadata have %s, a call gets 503 (RFC 8414 §3.3)', async (_, change, reason) => {
    issuer.answers.metadata = () => ok({ ...(usual.metadata().json as object), ...change })
    await expectUnavailable(createCheck()(bearer(await issuer.sign())), reason)
  })
})

test('An error and its cause do not contain the signature of the token', async () => {
  const token = await issuer.sign()
  const check = createCheck({ fetch: () => Promise.reject(new TypeError('fetch failed')) })
  const error = await refusal(check(bearer(token)))
  expect(error.cause).toBeInstanceOf(TypeError)
  expect(JSON.stringify(error) + error.stack + String(error.cause)).not.toContain(token.split('.')[2])
})

describe('Invalid options', () => {
  const good = { issuer: 'https://auth.example.com', audience }
  test.each([
    ['issuer', { ...good, issuer: 'auth.example.com' }],
    ['issuer', { ...good, issuer: 'http://auth.example.com' }],
    ['issuer', { ...good, issuer: 'https://auth.example.com?x' }],
    ['audience', { ...good, audience: '' }],
    ['header', { ...good, header: 'x access' }],
    ['clockTolerance', { ...good, clockTolerance: -1 }],
    ['introspection', { ...good, introspection: { clientId: 'api', clientSecret: '' } }],
  ])('An invalid option %s is refused when the check is created', (name, options) => {
    expect(() => createTokenCheck(options)).toThrow(new RegExp(`^${name} `))
  })
})
