/** Bodies, signatures and failures have limits; whoever proves the wallet is never refused for somebody else's failures. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { send } from '../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { type Answer, basic, LOGIN_SERVER, requestOf, Walk } from '../support/walk.ts'

const LIMIT = 3
const WRONG = `0x${'12'.repeat(65)}`

let grantor: Grantor
let client: TestClient
let walk: Walk
let challenge: string

beforeEach(async () => {
  grantor = await startGrantor({ failureLimit: LIMIT, trustedProxies: ['127.0.0.9'] })
  client = await grantor.createClient()
  walk = new Walk(grantor)
  challenge = await walk.challenge(requestOf(client))
})
afterEach(() => grantor.close())

const claim = () => ({ login_challenge: challenge, address: walk.wallet.address, chain_id: 1 })
const fail = (client_ip: unknown, of = challenge) =>
  walk.loginApi('/login/accept', { ...claim(), login_challenge: of, signature: WRONG, client_ip })

async function failures(count: number, client_ip: unknown, of = challenge): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await fail(client_ip, of)).status)
  return statuses
}

async function signature(): Promise<string> {
  const { message } = (await walk.loginApi('/login/message', claim())).json()
  return walk.wallet.sign(message as string)
}

describe('sizes, before any work', () => {
  const big = (length: number, headers: Record<string, string> = {}): Promise<Answer> => {
    const body = JSON.stringify({ ...claim(), padding: '' })
    return send(grantor.authUrl, {
      method: 'POST',
      path: '/login/message',
      headers: { authorization: LOGIN_SERVER, 'content-type': 'application/json', ...headers },
      body: body.replace('"padding":""', `"padding":"${'x'.repeat(length - body.length)}"`),
    })
  }

  test('a body of 16 KiB is read, one byte more is 413 too_large', async () => {
    expect((await big(16_384)).status).toBe(200)
    const answer = await big(16_385, { connection: 'close' })
    expect(answer.status).toBe(413)
    expect(answer.json()).toEqual({ error: 'too_large', error_description: expect.any(String) as string })
  })

  test('also where the length is not said beforehand', async () => {
    const answer = await big(20_000, { 'transfer-encoding': 'chunked', connection: 'close' })
    expect(answer.status).toBe(413)
  })

  test('a signature over 8 kB is 413 too_large, for a challenge that never was too', async () => {
    for (const login_challenge of [challenge, 'x']) {
      const answer = await walk.loginApi('/login/accept', {
        ...claim(),
        login_challenge,
        signature: `0x${'a'.repeat(8191)}`,
        client_ip: '198.51.100.200',
      })
      expect(answer.status).toBe(413)
      expect(answer.json().error).toBe('too_large')
    }
    const fits = await walk.loginApi('/login/accept', { ...claim(), signature: `0x${'a'.repeat(8190)}` })
    expect(fits.status).toBe(400)
  })
})

describe('failures', () => {
  test('past the limit read 429 with Retry-After, for a minute', async () => {
    expect(await failures(LIMIT, '198.51.100.1')).toEqual([401, 401, 401])
    const answer = await fail('198.51.100.1')
    expect(answer.status).toBe(429)
    expect(answer.json().error).toBe('temporarily_unavailable')
    const wait = Number(answer.headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    grantor.clock.advance(wait)
    expect((await fail('198.51.100.1')).status).toBe(401)
  })

  test('a correct signature is never refused for failures, one’s own or somebody else’s', async () => {
    for (const client_ip of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) {
      // one success per challenge, so each network has its own
      challenge = await walk.challenge(requestOf(client))
      await failures(LIMIT + 5, '198.51.100.1')
      await failures(LIMIT + 5, '198.51.100.2')
      expect((await walk.loginApi('/login/message', { ...claim(), client_ip })).status).toBe(200)
      const good = await signature()
      expect((await walk.loginApi('/login/accept', { ...claim(), signature: good, client_ip })).status).toBe(200)
    }
  })

  test('count for their network alone: another one’s are still answered as what they are', async () => {
    await failures(LIMIT + 1, '198.51.100.1')
    expect((await fail('198.51.100.2')).status).toBe(401)
  })

  test('never count for the address alone: nobody locks a wallet out by its public address', async () => {
    for (let i = 0; i < 20; i += 1) await fail(`198.51.100.${i}`)
    const victim = new Walk(grantor)
    victim.clientIp = '203.0.113.99'
    expect((await victim.signIn(requestOf(client))).code).not.toBe('')
  })

  test('IPv6 counts by its /64', async () => {
    expect(await failures(LIMIT, '2001:db8:1:2::1')).toEqual([401, 401, 401])
    expect((await fail('2001:db8:1:2:ffff:ffff:ffff:ffff')).status).toBe(429)
    expect((await fail('2001:DB8:1:2:0:0:0:9')).status).toBe(429)
    expect((await fail('2001:db8:1:3::1')).status).toBe(401)
  })

  test('an IPv4 address written as IPv6 is the same client', async () => {
    await failures(LIMIT, '198.51.100.7')
    expect((await fail('::ffff:198.51.100.7')).status).toBe(429)
    expect((await fail('::ffff:c633:6407')).status).toBe(429)
  })

  test('what is no address counts together, so that inventing names is no way around', async () => {
    for (let i = 0; i < LIMIT; i += 1) expect((await fail(`nonsense-${i}`)).status).toBe(401)
    expect((await fail('other nonsense')).status).toBe(429)
  })

  test('made-up challenges count too: each may be new, the network is the same', async () => {
    for (let i = 0; i < LIMIT; i += 1) expect((await fail('198.51.100.8', `made-up-${i}`)).status).toBe(400)
    expect((await fail('198.51.100.8', 'made-up-too')).status).toBe(429)
  })
})

describe('whose word about the client’s address is believed', () => {
  const wrongSecret = (headers: Record<string, string> = {}, client_ip = '198.51.100.1', from?: string) =>
    send(grantor.authUrl, {
      method: 'POST',
      path: '/login/accept',
      headers: { authorization: basic('login-server', 'wrong'), 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...claim(), client_ip }),
      ...(from === undefined ? {} : { from }),
    })

  test('client_ip counts only behind the secret: without it the socket’s own address does', async () => {
    for (let i = 0; i < LIMIT; i += 1) expect((await wrongSecret({}, `198.51.100.${i}`)).status).toBe(401)
    expect((await wrongSecret({}, '198.51.100.99')).status).toBe(429)
    // and nothing was counted for the addresses it named
    expect((await fail('198.51.100.0')).status).toBe(401)
  })

  test('forwarding headers count for nothing, unless a trusted proxy sends them', async () => {
    const forwarded = (i: number) => ({
      'x-forwarded-for': `198.51.100.${i}`,
      forwarded: `for=198.51.100.${i}`,
      'x-real-ip': `198.51.100.${i}`,
    })
    for (let i = 0; i < LIMIT; i += 1) expect((await wrongSecret(forwarded(i))).status).toBe(401)
    expect((await wrongSecret(forwarded(99))).status).toBe(429)
    for (let i = 0; i < LIMIT + 2; i += 1) expect((await wrongSecret(forwarded(i), '', '127.0.0.9')).status).toBe(401)
  })

  test('somebody who guesses the login server’s secret never locks the login server out', async () => {
    for (let i = 0; i < LIMIT + 5; i += 1) await wrongSecret()
    expect((await walk.loginApi('/login/message', claim())).status).toBe(200)
  })
})
