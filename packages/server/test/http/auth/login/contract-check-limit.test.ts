/** The limit on signature checks of contract wallets. Each check costs the operator chain calls, and no network may use up the share of another. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type HomeChain, startOnChain } from '../../../support/contract-login.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { type TestWallet, testWallet } from '../../../support/wallet.ts'
import { owner } from '../../../support/wallet-contracts.ts'

const CHECKS_PER_MINUTE = 30
const HERE = '198.51.100.1'
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

function from(clientIp: string, of?: TestWallet): Walk {
  return Object.assign(new Walk(home.grantor, of), { clientIp })
}

const signedByMallory = (of: TestWallet): TestWallet => ({ ...of, sign: mallory.sign })

/** Sends forged proofs of one address, all from one network. */
async function sendForgedProofs(of: TestWallet, times = CHECKS_PER_MINUTE): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    expect((await home.prove(signedByMallory(of), { walk: from(HERE) })).answer.status).toBe(401)
  }
}

test('One network gets thirty checks of a contract wallet per minute; the next is 429 with Retry-After, without an RPC call', async () => {
  await sendForgedProofs(wallet)
  const chainCalls = await home.questions(async () => {
    const answer = async () => (await home.prove(wallet, { walk: from(HERE) })).answer
    const refused = await home.expectRefused(answer, 429, 'temporarily_unavailable')
    expect(refused.json().error_description).toBe('Too many sign-ins. Wait and try again.')
    expect(refused.headers['retry-after']).toBe('60')
  })
  expect(chainCalls).toEqual([])
})

test('Forged proofs from many networks do not lock a contract wallet out: its owner signs in from another network', async () => {
  for (let i = 0; i < 40; i += 1) {
    const { answer } = await home.prove(signedByMallory(wallet), { walk: from(`198.51.100.${i}`) })
    expect(answer.status).toBe(401)
  }
  await sendForgedProofs(wallet, CHECKS_PER_MINUTE - 1)
  expect((await home.prove(wallet, { walk: from('203.0.113.77') })).answer.status).toBe(200)
})

test('A network with many slow checks does not block the checks of contract wallets from other networks', async () => {
  const proofs = Array.from({ length: 40 }, async (_, i) => {
    // Each proof has its own address, since each address has its own limit.
    const address = `0x${(0x1000 + i).toString(16).padStart(40, '1')}`
    const walk = from(HERE, { address, sign: mallory.sign })
    return { walk, proof: await walk.proof(await walk.challenge(requestOf(home.client))) }
  })
  const prepared = await Promise.all(proofs)
  home.setFaults('hang')
  const before = home.chain.asked.length
  let answered = 0
  const slow = prepared.map(async ({ walk, proof }) => {
    const { status } = await walk.loginApi('/login/accept', proof)
    answered += 1
    return status
  })
  // Every check has started or was refused.
  await expect.poll(() => home.chain.asked.length - before + answered).toBeGreaterThanOrEqual(prepared.length)
  home.setFaults(null)
  expect((await home.prove(wallet, { walk: from('203.0.113.77') })).answer.status).toBe(200)
  expect(new Set(await Promise.all(slow))).toEqual(new Set([503]))
})

test('After the time in Retry-After the limited owner of a contract wallet signs in with the same challenge', async () => {
  await sendForgedProofs(wallet)
  const attempt = await home.prove(wallet, { walk: from(HERE) })
  expect(attempt.answer.status).toBe(429)
  home.grantor.clock.advance(Number(attempt.answer.headers['retry-after']) - 1)
  expect((await home.proveAgain(attempt, wallet)).status).toBe(429)
  home.grantor.clock.advance(1)
  expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
})

test('The limit of one contract wallet does not affect another contract wallet in the same network', async () => {
  await sendForgedProofs(wallet)
  expect((await home.prove(await home.walletOf(alice), { walk: from(HERE) })).answer.status).toBe(200)
})

test('The owner of an ordinary wallet signs in after sixty forged proofs of its address from the same network', async () => {
  const victim = testWallet(2)
  await sendForgedProofs(victim)
  for (let i = 0; i < CHECKS_PER_MINUTE; i += 1) {
    expect((await home.prove(signedByMallory(victim), { walk: from(HERE) })).answer.status).toBe(429)
  }
  expect((await from(HERE, victim).signIn(requestOf(home.client))).code).not.toBe('')
})

test('The limit on checks of a contract wallet does not affect refreshes of its tokens', async () => {
  const connected = await home.connect(wallet)
  await sendForgedProofs(wallet)
  expect((await home.prove(wallet, { walk: from(HERE) })).answer.status).toBe(429)
  expect((await connected.walk.refresh(home.client, connected.tokens.refresh_token)).status).toBe(200)
})
