import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { newDpopKey, proofOf } from '../../../support/dpop.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import type { StartOptions, TestClient } from '../../../support/start.ts'
import { noticeOf } from '../../../support/walk.ts'

const LIMIT = 5
const FROM = { 'x-forwarded-for': '203.0.113.1' }

let app: App

beforeEach(async () => {
  app = await start()
})
afterEach(() => app.close())

const start = (options: StartOptions = {}): Promise<App> =>
  startApp({ failureLimit: LIMIT, trustedProxies: ['127.0.0.1'], ...options })

const limited = (retryAfter: number) => ({
  status: 429,
  error: 'temporarily_unavailable',
  description: 'Too many failed attempts. Wait and try again.',
  headers: { 'retry-after': String(retryAfter) },
})

/** A request that arrives from the address `ip` through the trusted proxy. */
function revokeFrom(ip: string, client: Pick<TestClient, 'id' | 'secret'>, token = 'x', of = app): Promise<Answer> {
  return of.walk.call('/oauth/revoke', client, { token }, { 'x-forwarded-for': ip })
}

async function failTimes(times: number, ip: string, id = app.client.id, of = app): Promise<void> {
  for (let time = 0; time < times; time++) expectRefusal(await revokeFrom(ip, { id, secret: 'wrong' }, 'x', of), 'invalid_client')
}

const wrong = (): { id: string; secret: string } => ({ id: app.client.id, secret: 'wrong' })

describe('The limit on failures of one network with one client (RFC 6585 §4)', () => {
  test('A failed authentication past the limit gets 429, with the rest of the minute in Retry-After (RFC 6585 §4)', async () => {
    await failTimes(LIMIT, '203.0.113.1')
    expectRefusal(await revokeFrom('203.0.113.1', wrong()), limited(60))
    app.grantor.clock.advance(59)
    expectRefusal(await revokeFrom('203.0.113.1', wrong()), limited(1))
    app.grantor.clock.advance(1)
    await failTimes(LIMIT, '203.0.113.1')
    expectRefusal(await revokeFrom('203.0.113.1', wrong()), limited(60))
  })

  test('Failed client authentications at all endpoints count towards one limit (RFC 6749 §2.3.1)', async () => {
    for (let time = 0; time < LIMIT; time++) {
      const path = ['/oauth/revoke', '/oauth/introspect', '/oauth/token'][time % 3] ?? ''
      expectRefusal(await app.walk.call(path, wrong(), 'token=x', FROM), 'invalid_client')
    }
    for (const path of ['/oauth/revoke', '/oauth/introspect', '/oauth/token']) {
      expectRefusal(await app.walk.call(path, wrong(), 'token=x', FROM), limited(60))
    }
  })

  test('Beyond the limit a network gets one line of text instead of the page for an unknown client, and others and correct requests are served', async () => {
    const visit = (clientId: string, from: string) =>
      send(app.grantor.authUrl, {
        path: `/oauth/authorize?${new URLSearchParams({ client_id: clientId, redirect_uri: app.client.redirectUris[0] ?? '' }).toString()}`,
        headers: { 'x-forwarded-for': from },
      })
    for (let time = 0; time < LIMIT; time++)
      expect(noticeOf(await visit(`unknown ${time}`, '203.0.113.1'))).toBe('unknown_client')
    const over = await visit('unknown', '203.0.113.1')
    expect([over.status, over.headers['retry-after'], over.headers['content-type']]).toEqual([
      429,
      '60',
      'text/plain; charset=utf-8',
    ])
    expect(over.body.length).toBeLessThan(100)
    expect(noticeOf(await visit('unknown', '203.0.113.2'))).toBe('unknown_client')
    expect((await visit(app.client.id, '203.0.113.1')).status).toBe(302)
  })

  test('Beyond the limit of complete pages of a process, the page of a refusal has the same words in 4 kB, whichever networks ask', async () => {
    const limited = await start({ limits: { refusal_pages: 2 } })
    try {
      const visit = (clientId: string, from: string) =>
        send(limited.grantor.authUrl, {
          path: `/oauth/authorize?${new URLSearchParams({ client_id: clientId, redirect_uri: 'https://app.example/' }).toString()}`,
          headers: { 'x-forwarded-for': from },
        })
      const pages = []
      for (let time = 0; time < 4; time++) pages.push(await visit(`unknown ${time}`, `203.0.113.${time}`))
      expect(pages.map(({ status }) => status)).toEqual([400, 400, 400, 400])
      expect(pages.map(noticeOf)).toEqual(Array.from({ length: 4 }, () => 'unknown_client'))
      expect(pages.map(({ body }) => body.includes('We do not know this app') && body.includes('client_unknown'))).not.toContain(
        false,
      )
      expect(pages.map(({ body }) => body.includes('<style>'))).toEqual([true, true, false, false])
      expect(pages[3]?.body.length).toBeLessThan(4000)
      expect(pages[3]?.headers['content-security-policy']).toBe(pages[0]?.headers['content-security-policy'])
      limited.grantor.clock.advance(60)
      expect((await visit('unknown', '203.0.113.1')).body).toContain('<style>')
    } finally {
      await limited.close()
    }
  })

  test('Invalid codes, invalid refresh tokens and tokens of other clients count towards one limit', async () => {
    const foreign = (await app.freshTokens({}, await app.grantor.createClient())).access_token
    const attempts = [
      () => app.walk.token(app.client, 'grant_type=refresh_token&refresh_token=x', FROM),
      () => app.walk.token(app.client, 'grant_type=authorization_code&code=x&redirect_uri=y', FROM),
      () => app.walk.call('/oauth/revoke', app.client, { token: foreign }, FROM),
    ]
    for (let time = 0; time < LIMIT; time++) expectRefusal(await (attempts[time % 3] as () => Promise<Answer>)(), 'invalid_grant')
    for (const attempt of attempts) expectRefusal(await attempt(), limited(60))
  })

  test('Malformed requests, unknown scopes and unknown tokens at introspection do not count as failures', async () => {
    const { refresh_token } = await app.freshTokens()
    for (let time = 0; time < 2 * LIMIT; time++) {
      expect((await app.walk.token(app.client, 'grant_type=x', FROM)).status).toBe(400)
      expect(
        (await app.walk.token(app.client, `grant_type=refresh_token&refresh_token=${refresh_token}&scope=x`, FROM)).status,
      ).toBe(400)
      expect((await app.walk.call('/oauth/introspect', app.client, 'token=x', FROM)).status).toBe(200)
    }
    await failTimes(LIMIT, '203.0.113.1')
  })

  test('A replayed code ends its grant even past the limit', async () => {
    const code = await app.freshCode()
    const tokens = (await app.walk.exchange(app.client, code)).json()
    for (let time = 0; time < LIMIT; time++) await app.walk.token(app.client, 'grant_type=refresh_token&refresh_token=x', FROM)
    const body = { grant_type: 'authorization_code', code, redirect_uri: app.client.redirectUris[0] ?? '' }
    expect((await app.walk.token(app.client, body, FROM)).status).toBe(429)
    expect(await app.isActive(tokens.access_token as string)).toBe(false)
  })
})

describe('Invalid DPoP proofs and the limit (RFC 9449 §4.3, docs/reference/protocol.md)', () => {
  const key = newDpopKey()
  const guess = 'grant_type=authorization_code&code=x&redirect_uri=y'
  const good = () => proofOf(app.grantor, key)
  const bad = () => proofOf(app.grantor, key, { htm: 'GET' })
  const redeemGuess = async (client: Pick<TestClient, 'id' | 'secret'>, dpop: Promise<string>) =>
    app.walk.token(client, guess, { ...FROM, dpop: await dpop })

  test('Invalid DPoP proofs get invalid_dpop_proof however many there are, and do not count towards the limit', async () => {
    const open = await app.grantor.createClient({ type: 'public' })
    for (let time = 0; time < 3 * LIMIT; time++) expectRefusal(await redeemGuess(open, bad()), 'invalid_dpop_proof')
    for (let time = 0; time < LIMIT; time++) expectRefusal(await redeemGuess(open, good()), 'invalid_grant')
    expectRefusal(await redeemGuess(open, good()), limited(60))
    expectRefusal(await redeemGuess(open, bad()), 'invalid_dpop_proof')
  })

  test('A DPoP proof is checked before the code, so a request with an invalid proof does not redeem the code', async () => {
    const code = await app.freshCode()
    const body = { grant_type: 'authorization_code', code, redirect_uri: app.client.redirectUris[0] ?? '' }
    expectRefusal(await app.walk.token(app.client, body, { dpop: await bad() }), 'invalid_dpop_proof')
    expect((await app.walk.exchange(app.client, code)).status, 'the code still works').toBe(200)
  })

  test('A wrong secret beside an invalid DPoP proof is invalid_client, and counts as a failure', async () => {
    for (let time = 0; time < LIMIT; time++) expectRefusal(await redeemGuess(wrong(), bad()), 'invalid_client')
    expectRefusal(await redeemGuess(wrong(), bad()), limited(60))
  })
})

describe('Correct credentials past the limit', () => {
  test('A correct secret is accepted even from an address that is over the limit', async () => {
    await failTimes(LIMIT, '203.0.113.1')
    expectRefusal(await revokeFrom('203.0.113.1', wrong()), limited(60))
    expect((await revokeFrom('203.0.113.1', app.client)).status).toBe(200)
    const { refresh_token } = await app.freshTokens()
    expect((await app.walk.token(app.client, { grant_type: 'refresh_token', refresh_token }, FROM)).status).toBe(200)
  })

  test('A client with a correct secret but an invalid refresh token gets invalid_grant, even past the limit', async () => {
    await failTimes(LIMIT, '203.0.113.1')
    expectRefusal(await revokeFrom('203.0.113.1', wrong()), limited(60))
    expectRefusal(await app.walk.token(app.client, 'grant_type=refresh_token&refresh_token=x', FROM), 'invalid_grant')
  })

  test('Each network and each client has its own count of failures', async () => {
    const other = await app.grantor.createClient()
    await failTimes(LIMIT, '203.0.113.1')
    await failTimes(LIMIT, '203.0.113.2')
    await failTimes(LIMIT, '203.0.113.1', other.id)
    expectRefusal(await revokeFrom('203.0.113.1', wrong()), limited(60))
  })
})

describe('Networks in the limit on failures', () => {
  test('All addresses of an IPv6 /64 share one count, and the next /64 has its own', async () => {
    for (let time = 0; time < LIMIT; time++) await failTimes(1, `2001:db8:0:1::${(time * 4099).toString(16)}`)
    for (const ip of ['2001:db8:0:1::', '2001:db8:0:1:ffff:ffff:ffff:ffff', '2001:0DB8:0000:0001::7']) {
      expectRefusal(await revokeFrom(ip, wrong()), limited(60))
    }
    await failTimes(1, '2001:db8:0:2::')
  })

  test('An IPv4 address and its form mapped into IPv6 share one count, and the next address has its own', async () => {
    await failTimes(LIMIT, '203.0.113.1')
    expectRefusal(await revokeFrom('::ffff:203.0.113.1', wrong()), limited(60))
    expectRefusal(await revokeFrom('::ffff:cb00:7101', wrong()), limited(60))
    await failTimes(1, '::ffff:203.0.113.2')
  })

  test('The last address in X-Forwarded-For from a trusted proxy counts, and the addresses before it are ignored', async () => {
    for (let time = 0; time < LIMIT; time++) await failTimes(1, `198.51.100.${time}, 203.0.113.1`)
    expectRefusal(await revokeFrom('198.51.100.99, 203.0.113.1', wrong()), limited(60))
  })

  test('If no proxy is trusted, the address of the connection counts, and X-Forwarded-For is ignored', async () => {
    const direct = await start({ trustedProxies: [] })
    for (let time = 0; time < LIMIT; time++) await failTimes(1, `198.51.100.${time}`, direct.client.id, direct)
    expectRefusal(await revokeFrom('198.51.100.99', { id: direct.client.id, secret: 'wrong' }, 'x', direct), limited(60))
    await direct.close()
  })

  test.each(['', 'unknown', '_hidden', '999.1.1.1', '203.0.113.1:4711', '[2001:db8::1]', '\xff', ',,,', 'a'.repeat(4000)])(
    'An unreadable address in X-Forwarded-For never causes a 5xx: %j',
    async (ip) => {
      const answer = await revokeFrom(ip, wrong())
      expect(answer.status).toBe(401)
    },
  )
})

test('Unknown client ids share one count per network, so they cannot fill the memory', async () => {
  for (let time = 0; time < LIMIT; time++) await failTimes(1, '203.0.113.1', `nobody-${time}`)
  expectRefusal(await revokeFrom('203.0.113.1', { id: 'nobody-else', secret: 'x' }), limited(60))
  await failTimes(1, '203.0.113.1')
})

test('The default limit is 1,000 failures a minute', async () => {
  const usual = await startApp()
  const statuses = new Map<number, number>()
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(
      Array.from({ length: 101 }, () => usual.walk.revoke({ id: usual.client.id, secret: 'wrong' }, 'x')),
    )
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  expect(Object.fromEntries(statuses)).toEqual({ 401: 1000, 429: 10 })
  expect((await usual.walk.revoke(usual.client, 'x')).status).toBe(200)
  await usual.close()
})
