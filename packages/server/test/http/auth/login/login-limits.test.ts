/** The limits on bodies, signatures and failures. A valid proof is never refused for failures, own or other. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, basic, LOGIN_SERVER, requestOf, Walk } from '../../../support/walk.ts'

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
const sendWrongProof = (client_ip: unknown, of = challenge) =>
  walk.loginApi('/login/accept', { ...claim(), login_challenge: of, signature: WRONG, client_ip })

async function failures(count: number, client_ip: unknown, of = challenge): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await sendWrongProof(client_ip, of)).status)
  return statuses
}

async function signature(): Promise<string> {
  const { message } = (await walk.loginApi('/login/message', claim())).json()
  return walk.wallet.sign(message as string)
}

describe('The sizes of login API requests', () => {
  const sendOfLength = (length: number, headers: Record<string, string> = {}): Promise<Answer> => {
    const body = JSON.stringify({ ...claim(), padding: '' })
    return send(grantor.authUrl, {
      method: 'POST',
      path: '/login/message',
      headers: { authorization: LOGIN_SERVER, 'content-type': 'application/json', ...headers },
      body: body.replace('"padding":""', `"padding":"${'x'.repeat(length - body.length)}"`),
    })
  }

  test('A login API body of 16 KiB is accepted, and one byte more is 413 too_large', async () => {
    expect((await sendOfLength(16_384)).status).toBe(200)
    const answer = await sendOfLength(16_385, { connection: 'close' })
    expect(answer.status).toBe(413)
    expect(answer.json()).toEqual({ error: 'too_large', error_description: expect.any(String) as string })
  })

  test('A login API body over 16 KiB without Content-Length is 413', async () => {
    const answer = await sendOfLength(20_000, { 'transfer-encoding': 'chunked', connection: 'close' })
    expect(answer.status).toBe(413)
  })

  test('A signature of more than 8,192 characters is 413 too_large, even with an invalid challenge', async () => {
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

describe('The limit on failed proofs', () => {
  test('Failed proofs beyond the limit of a network are 429 with Retry-After, for at most a minute', async () => {
    expect(await failures(LIMIT, '198.51.100.1')).toEqual([401, 401, 401])
    const answer = await sendWrongProof('198.51.100.1')
    expect(answer.status).toBe(429)
    expect(answer.json().error).toBe('temporarily_unavailable')
    const wait = Number(answer.headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    grantor.clock.advance(wait)
    expect((await sendWrongProof('198.51.100.1')).status).toBe(401)
  })

  test('A correct signature is accepted despite failures beyond the limit from the same network or from others', async () => {
    for (const client_ip of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) {
      // a challenge succeeds only once, so each network needs its own
      challenge = await walk.challenge(requestOf(client))
      await failures(LIMIT + 5, '198.51.100.1')
      await failures(LIMIT + 5, '198.51.100.2')
      expect((await walk.loginApi('/login/message', { ...claim(), client_ip })).status).toBe(200)
      const good = await signature()
      expect((await walk.loginApi('/login/accept', { ...claim(), signature: good, client_ip })).status).toBe(200)
    }
  })

  test('Failed proofs of one network do not count towards the limit of another network', async () => {
    await failures(LIMIT + 1, '198.51.100.1')
    expect((await sendWrongProof('198.51.100.2')).status).toBe(401)
  })

  test('Failed proofs of one wallet from many networks do not lock the wallet out', async () => {
    for (let i = 0; i < 20; i += 1) await sendWrongProof(`198.51.100.${i}`)
    const victim = new Walk(grantor)
    victim.clientIp = '203.0.113.99'
    expect((await victim.signIn(requestOf(client))).code).not.toBe('')
  })

  test('IPv6 addresses of the same /64 prefix share one limit on failures', async () => {
    expect(await failures(LIMIT, '2001:db8:1:2::1')).toEqual([401, 401, 401])
    expect((await sendWrongProof('2001:db8:1:2:ffff:ffff:ffff:ffff')).status).toBe(429)
    expect((await sendWrongProof('2001:DB8:1:2:0:0:0:9')).status).toBe(429)
    expect((await sendWrongProof('2001:db8:1:3::1')).status).toBe(401)
  })

  test('An IPv4 address and its IPv6-mapped spelling share one limit on failures', async () => {
    await failures(LIMIT, '198.51.100.7')
    expect((await sendWrongProof('::ffff:198.51.100.7')).status).toBe(429)
    expect((await sendWrongProof('::ffff:c633:6407')).status).toBe(429)
  })

  test('All values of client_ip that are no addresses share one limit on failures', async () => {
    for (let i = 0; i < LIMIT; i += 1) expect((await sendWrongProof(`nonsense-${i}`)).status).toBe(401)
    expect((await sendWrongProof('other nonsense')).status).toBe(429)
  })

  test('Proofs for made-up challenges count towards the limit on failures of their network', async () => {
    for (let i = 0; i < LIMIT; i += 1) expect((await sendWrongProof('198.51.100.8', `made-up-${i}`)).status).toBe(400)
    expect((await sendWrongProof('198.51.100.8', 'made-up-too')).status).toBe(429)
  })
})

describe('The source of the client’s address', () => {
  const wrongSecret = (headers: Record<string, string> = {}, client_ip = '198.51.100.1', from?: string) =>
    send(grantor.authUrl, {
      method: 'POST',
      path: '/login/accept',
      headers: { authorization: basic('login-server', 'wrong'), 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...claim(), client_ip }),
      ...(from === undefined ? {} : { from }),
    })

  test('Without the login secret, failures count for the address of the connection and not for client_ip', async () => {
    for (let i = 0; i < LIMIT; i += 1) expect((await wrongSecret({}, `198.51.100.${i}`)).status).toBe(401)
    expect((await wrongSecret({}, '198.51.100.99')).status).toBe(429)
    // no failure was counted for the addresses in client_ip
    expect((await sendWrongProof('198.51.100.0')).status).toBe(401)
  })

  test('Forwarding headers are ignored unless a trusted proxy sends them', async () => {
    const forwarded = (i: number) => ({
      'x-forwarded-for': `198.51.100.${i}`,
      forwarded: `for=198.51.100.${i}`,
      'x-real-ip': `198.51.100.${i}`,
    })
    for (let i = 0; i < LIMIT; i += 1) expect((await wrongSecret(forwarded(i))).status).toBe(401)
    expect((await wrongSecret(forwarded(99))).status).toBe(429)
    for (let i = 0; i < LIMIT + 2; i += 1) expect((await wrongSecret(forwarded(i), '', '127.0.0.9')).status).toBe(401)
  })

  test('Wrong login secrets beyond the limit do not lock out the login server', async () => {
    for (let i = 0; i < LIMIT + 5; i += 1) await wrongSecret()
    expect((await walk.loginApi('/login/message', claim())).status).toBe(200)
  })
})
