/** How many sign-ins of one address may ask the chain: each costs the operator calls, whoever begins it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type HomeChain, startOnChain } from '../support/contract-login.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { type TestWallet, testWallet } from '../support/wallet.ts'
import { owner } from '../support/wallet-contracts.ts'

const A_MINUTE = 30
const alice = owner('alice')
const mallory = owner('mallory')

let home: HomeChain
let wallet: TestWallet
beforeAll(async () => {
  home = await startOnChain()
})
beforeEach(async () => {
  home.setFaults(null)
  home.grantor.clock.advance(60)
  wallet = await home.walletOf(alice)
})
afterAll(() => home.close())

/** Each from another network: what is counted is the address. */
async function useUp(of: TestWallet, times = A_MINUTE): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    const walk = new Walk(home.grantor)
    walk.clientIp = `198.51.100.${i}`
    expect((await home.prove({ ...of, sign: mallory.sign }, { walk })).answer.status).toBe(401)
  }
}

test('thirty a minute, whoever asks from wherever; the next is 429 with Retry-After, asks no RPC and stores nothing', async () => {
  await useUp(wallet)
  const asked = await home.questions(async () => {
    const refused = await home.expectRefused(async () => (await home.prove(wallet)).answer, 429, 'temporarily_unavailable')
    expect(refused.json().error_description).toBe('This address was checked too often. Wait and try again.')
    expect(refused.headers['retry-after']).toBe('60')
  })
  expect(asked).toEqual([])
})

test('a minute later the same challenge signs the owner in', async () => {
  await useUp(wallet)
  const attempt = await home.prove(wallet)
  expect(attempt.answer.status).toBe(429)
  home.grantor.clock.advance(Number(attempt.answer.headers['retry-after']) - 1)
  expect((await home.proveAgain(attempt, wallet)).status).toBe(429)
  home.grantor.clock.advance(1)
  expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
})

test('other contract wallets are not held up', async () => {
  await useUp(wallet)
  expect((await home.prove(await home.walletOf(alice))).answer.status).toBe(200)
})

test('an ordinary wallet is never limited: after sixty forged proofs of its address its own key signs in', async () => {
  const victim = testWallet(2)
  await useUp(victim)
  for (let i = 0; i < A_MINUTE; i += 1) {
    expect((await home.prove({ ...victim, sign: mallory.sign })).answer.status).toBe(429)
  }
  expect((await new Walk(home.grantor, victim).signIn(requestOf(home.client))).code).not.toBe('')
})

test('once its own key was seen, forged proofs of it ask no RPC and count as plain failures: 401', async () => {
  await new Walk(home.grantor, testWallet(1)).signIn(requestOf(home.client))
  const asked = await home.questions(() => useUp(testWallet(1)))
  expect(asked).toEqual([])
  expect((await home.prove({ ...testWallet(1), sign: mallory.sign })).answer.status).toBe(401)
})

test('refreshes are not limited by it: tokens of a wallet whose address is being tried go on', async () => {
  const connected = await home.connect(wallet)
  // the sign-in above was one of the thirty
  await useUp(wallet, A_MINUTE - 1)
  expect((await home.prove(wallet)).answer.status).toBe(429)
  expect((await connected.walk.refresh(home.client, connected.tokens.refresh_token)).status).toBe(200)
})
