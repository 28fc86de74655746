/** GRANTOR_KEY_CHECK: the home chain is called to check whether an account has switched its key off before a signature of the key is trusted. */
import { expect } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { chainTest as base } from '../support/fixtures.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { digits, owner } from '../support/wallet-contracts.ts'

const test = base.extend('options', { keyCheck: true, failureLimit: 1_000_000 })
const wallet = testWallet(0)

test.beforeEach(({ home }) => home.setFaults(null))

test('An account that did not switch its key off signs in after one call to each RPC, also if it delegates (EIP-7702)', async ({
  home,
}) => {
  const delegating = owner('an account that delegates')
  await home.chain.setCode(delegating.address, `0xef0100${digits(testWallet(2).address)}`)
  for (const each of [wallet, delegating]) {
    expect(await home.questions(() => home.connect(each))).toEqual(['eth_call', 'eth_call'])
    expect(await home.grantor.store.wallets.readWallet(each.address as Address)).toMatchObject({ provedItself: true })
  }
})

test('The key of an account that switched its key off signs in nowhere: 401, and nothing is stored', async ({ home }) => {
  // What both RPCs return for an account with such code; packages/server/test/protocol/wallet/own-key.test.ts
  home.setFaults('deny')
  await home.expectRefused(async () => (await home.prove(wallet)).answer, 401, 'not_proven')
  expect(home.grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'key_switched_off' })
  const account = new Walk(home.grantor, wallet)
  const places = [
    (await account.browse({ path: '/account' })).location,
    movingTo(await account.postForm('/account/end-everything', {})),
  ]
  for (const place of places) {
    const proof = await account.proof(parameterOf(place, 'login_challenge'), wallet)
    await home.expectRefused(() => account.loginApi('/login/accept', proof), 401, 'not_proven')
  }
})

test('What an account allowed before it switched its key off stays, and needs no call to an RPC', async ({ home }) => {
  const connected = await home.connect(wallet)
  home.setFaults('deny')
  const asked = await home.questions(async () => {
    expect((await connected.walk.refresh(home.client, connected.tokens.refresh_token)).status).toBe(200)
    expect((await connected.walk.browse({ path: '/account' })).status).toBe(200)
  })
  expect(asked).toEqual([])
})

test('The home chain decides, even if the text names another allowed chain', async ({ home }) => {
  home.setFaults('deny')
  const walk = new Walk(home.grantor)
  const claim = { login_challenge: await walk.challenge(requestOf(home.client)), address: wallet.address, chain_id: 8453 }
  const { message } = (await walk.loginApi('/login/message', claim)).json()
  const signature = wallet.sign(String(message))
  await home.expectRefused(() => walk.loginApi('/login/accept', { ...claim, signature }), 401, 'not_proven')
  home.setFaults(null)
  expect((await walk.loginApi('/login/accept', { ...claim, signature })).status).toBe(200)
})

test.for(['hang', '429', 'other_chain', 'malformed'] as const)(
  'While the chain cannot be called (%s), the response is 503 with Retry-After, and the same challenge works later',
  async (fault, { home }) => {
    home.setFaults(fault)
    const attempt = await home.prove(wallet)
    expect([attempt.answer.status, attempt.answer.headers['retry-after']]).toEqual([503, '5'])
    home.setFaults(null)
    expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
  },
)

test('If one RPC reports that the key was switched off and the other does not, the response is 503', async ({ home }) => {
  home.beside.setFault('deny')
  expect((await home.prove(wallet)).answer.status).toBe(503)
})

test('A signature of another key causes the check of a contract wallet only', async ({ home }) => {
  const asked = await home.questions(async () => {
    const forged = { address: testWallet(1).address, sign: owner('mallory').sign }
    expect((await home.prove(forged)).answer.status).toBe(401)
  })
  expect(asked).toEqual(['eth_call', 'eth_call'])
})
