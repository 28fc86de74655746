/** Limits on sign-ins by network. The limits apply before the signature is checked, so refused sign-ins cause no call to a chain. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type HomeChain, startOnChain } from '../../../support/contract-login.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, requestOf, Walk } from '../../../support/walk.ts'
import type { TestWallet } from '../../../support/wallet.ts'
import { owner } from '../../../support/wallet-contracts.ts'

const HERE = '198.51.100.1'
const ELSEWHERE = '198.51.100.2'

describe('The limit on sign-ins of one network', () => {
  const LIMIT = 3
  let grantor: Grantor
  let client: TestClient
  beforeEach(async () => {
    grantor = await startGrantor({ limits: { sign_ins: LIMIT } })
    client = await grantor.createClient()
  })
  afterEach(() => grantor.close())

  /** Sends a correct proof for a new login. */
  async function signIn(clientIp: string | undefined): Promise<Answer> {
    const walk = new Walk(grantor)
    const proof = await walk.proof(await walk.challenge(requestOf(client)))
    return walk.loginApi('/login/accept', { ...proof, client_ip: clientIp })
  }

  test('Successful sign-ins of a network count too, and past the limit a correct one gets 429 with Retry-After', async () => {
    for (let time = 0; time < LIMIT; time++) expect((await signIn(HERE)).status).toBe(200)
    const refused = await signIn(HERE)
    expect(refused.status).toBe(429)
    expect(refused.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'Too many sign-ins. Wait and try again.',
    })
    expect(refused.headers['retry-after']).toBe('60')
    expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'sign_in_limit' })
    expect((await signIn(ELSEWHERE)).status, 'of another network').toBe(200)
    grantor.clock.advance(60)
    expect((await signIn(HERE)).status, 'a minute later').toBe(200)
  })

  test('Past the limit a sign-in gets 429 before its content is read', async () => {
    const walk = new Walk(grantor)
    for (let time = 0; time < LIMIT; time++) expect((await walk.loginApi('/login/accept', { client_ip: HERE })).status).toBe(400)
    expect((await walk.loginApi('/login/accept', { client_ip: HERE })).status).toBe(429)
    expect((await walk.loginApi('/login/accept', { client_ip: HERE, signature: 'x'.repeat(10_000) })).status).toBe(429)
  })

  test('The sign-ins of an IPv6 /64 share one count', async () => {
    for (let time = 0; time < LIMIT; time++) expect((await signIn(`2001:db8:1:2::${time}`)).status).toBe(200)
    expect((await signIn('2001:db8:1:2:ffff::')).status).toBe(429)
    expect((await signIn('2001:db8:1:3::')).status).toBe(200)
  })

  test('If the login server sends no client_ip, sign-ins are not limited, because they would share the login server’s address', async () => {
    for (let time = 0; time <= LIMIT; time++) expect((await signIn(undefined)).status).toBe(200)
  })
})

describe('The limit on failed sign-ins and calls to a chain', () => {
  const FAILURES = 20
  const alice = owner('alice')
  const mallory = owner('mallory')
  let home: HomeChain
  let wallet: TestWallet
  beforeAll(async () => {
    home = await startOnChain({ failureLimit: FAILURES })
  })
  beforeEach(async () => {
    home.grantor.clock.advance(60)
    wallet = await home.walletOf(alice)
  })
  afterAll(() => home.close())

  async function prove(clientIp: string, of: TestWallet = { ...wallet, sign: mallory.sign }): Promise<Answer> {
    const walk = new Walk(home.grantor)
    walk.clientIp = clientIp
    return (await home.prove(of, { walk })).answer
  }

  test('Of sixty forged proofs one after the other, twenty cause calls to the chain, and forty get 429', async () => {
    const callsForOne = await home.questions(() => prove(ELSEWHERE))
    const statuses: number[] = []
    const calls = await home.questions(async () => {
      for (let time = 0; time < 60; time++) statuses.push((await prove(HERE)).status)
    })
    expect(statuses).toEqual(Array.from({ length: 60 }, (_, time) => (time < FAILURES ? 401 : 429)))
    expect(calls).toHaveLength(FAILURES * callsForOne.length)
  })

  test('After other failures a contract wallet gets 429 without a call to the chain, and an ordinary wallet can sign in', async () => {
    const walk = new Walk(home.grantor)
    walk.clientIp = HERE
    for (let time = 0; time < FAILURES; time++) await walk.loginApi('/login/accept', { login_challenge: 'made up' })
    expect(await home.questions(async () => expect((await prove(HERE)).status).toBe(429))).toEqual([])
    expect((await walk.signIn(requestOf(home.client))).code).not.toBe('')
  })

  test('Forged proofs from one network do not prevent the owner of the wallet from signing in from another network', async () => {
    for (let time = 0; time < 60; time++) await prove(HERE)
    expect((await prove(ELSEWHERE, wallet)).status).toBe(200)
  })
})

test('Of a hundred simultaneous forged proofs at most sixty cause calls to the chain, and forty get 429', async () => {
  const home = await startOnChain()
  try {
    const wallets = await Promise.all(['a', 'b', 'c', 'd'].map((name) => home.walletOf(owner(name))))
    const prove = (of: TestWallet, clientIp: string) =>
      home.prove({ ...of, sign: owner('mallory').sign }, { walk: Object.assign(new Walk(home.grantor), { clientIp }) })
    const callsForOne = await home.questions(() => prove(wallets[0] as TestWallet, ELSEWHERE))
    let refused = 0
    const calls = await home.questions(async () => {
      const attempts = await Promise.all(Array.from({ length: 100 }, (_, time) => prove(wallets[time % 4] as TestWallet, HERE)))
      refused = attempts.filter(({ answer }) => answer.status === 429).length
    })
    expect(refused).toBe(40)
    // Fewer if the chain's own limit of calls at a time is reached.
    expect(calls.length).toBeLessThanOrEqual(60 * callsForOne.length)
  } finally {
    await home.close()
  }
})

test('A network has sixty checks of contract wallets a minute, even if all succeed, and other networks have their own', async () => {
  const home = await startOnChain()
  try {
    const walk = new Walk(home.grantor)
    walk.clientIp = HERE
    const wallets = [await home.walletOf(owner('a')), await home.walletOf(owner('b')), await home.walletOf(owner('c'))]
    for (let time = 0; time < 60; time++) {
      const own = Object.assign(new Walk(home.grantor), { clientIp: HERE })
      expect((await home.prove(wallets[time % 3] as TestWallet, { walk: own })).answer.status).toBe(200)
    }
    const calls = await home.questions(async () => {
      expect((await home.prove(wallets[0] as TestWallet, { walk })).answer.status).toBe(429)
    })
    expect(calls).toEqual([])
    const other = Object.assign(new Walk(home.grantor), { clientIp: ELSEWHERE })
    expect((await home.prove(wallets[0] as TestWallet, { walk: other })).answer.status).toBe(200)
  } finally {
    await home.close()
  }
})
