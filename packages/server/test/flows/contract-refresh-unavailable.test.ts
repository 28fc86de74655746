/** Refreshes of a contract wallet while no RPC responds: the last successful check counts for the grace period, then 503. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { isDoneWithin } from '../support/attempts.ts'
import type { RpcFault } from '../support/chain-rpc.ts'
import { type Connected, type HomeChain, startOnChain } from '../support/contract-login.ts'
import { expectRefusal } from '../support/refusals.ts'
import { type Answer, parameterOf, requestOf } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeOwner, owner } from '../support/wallet-contracts.ts'

const GRACE = 3600
const NOT_CHECKED = {
  status: 503,
  error: 'temporarily_unavailable',
  description: 'The wallet could not be checked right now. Try again in a moment.',
  headers: { 'retry-after': '5' },
}
const alice = owner('alice')
const bob = owner('bob')

let home: HomeChain
let wallet: TestWallet
let connected: Connected
beforeAll(async () => {
  home = await startOnChain({ lifetimes: { contractGrace: GRACE } })
})
beforeEach(async () => {
  home.setFaults(null)
  wallet = await home.changeableWalletOf(alice)
  connected = await home.connect(wallet)
})
afterAll(() => home.close())

/** Refreshes with the current token, and keeps the new tokens after each success. */
async function refresh(): Promise<Answer> {
  const answer = await connected.walk.refresh(home.client, connected.tokens.refresh_token)
  if (answer.status === 200) connected = { ...connected, tokens: answer.json() as Connected['tokens'] }
  return answer
}

async function checkedAt(): Promise<number | undefined> {
  const [receipt] = await home.grantor.store.receipts.listReceipts(wallet.address as Address, { limit: 1 })
  return receipt?.checkedAt
}

/** Expects 503 with Retry-After, and no change of any row. */
async function expectNotChecked(): Promise<void> {
  const before = await home.grantor.rows()
  expectRefusal(await refresh(), NOT_CHECKED)
  expect(await home.grantor.rows()).toEqual(before)
}

test('Refreshes work until the last second of the grace period; then they are 503, and the token stays valid', async () => {
  home.setFaults('429')
  home.grantor.clock.advance(GRACE - 1)
  expect((await refresh()).status).toBe(200)
  home.grantor.clock.advance(1)
  await expectNotChecked()
  await expectNotChecked()
  expect(await home.grantOf(connected)).toMatchObject({ endedAt: null, generation: 1 })
  home.setFaults(null)
  expect((await refresh()).status).toBe(200)
})

test('A successful check starts the grace period again, and a check without a response does not', async () => {
  home.grantor.clock.advance(GRACE)
  expect((await refresh()).status).toBe(200)
  const at = home.grantor.clock.now()
  expect(await checkedAt()).toBe(at)
  home.setFaults('500')
  home.grantor.clock.advance(GRACE - 1)
  expect((await refresh()).status).toBe(200)
  expect(await checkedAt()).toBe(at)
  home.grantor.clock.advance(1)
  await expectNotChecked()
})

test('Access tokens stay active meanwhile: introspection calls no chain', async () => {
  home.setFaults('hang')
  const asked = await home.questions(async () => expect(await home.isActive(connected)).toBe(true))
  expect(asked).toEqual([])
})

test('An owner who was removed while no RPC responded is found by the first check with a response', async () => {
  home.setFaults('429')
  await home.chain.send(wallet.address, changeOwner(bob.address))
  expect((await refresh()).status).toBe(200)
  home.grantor.clock.advance(GRACE)
  await expectNotChecked()
  home.setFaults(null)
  expectRefusal(await refresh(), 'invalid_grant')
  expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
})

test('A clock that is set back does not extend the grace period: a check in the future does not count', async () => {
  home.grantor.clock.advance(GRACE)
  await refresh()
  home.setFaults('429')
  home.grantor.clock.advance(-1)
  await expectNotChecked()
  home.grantor.clock.advance(1)
  expect((await refresh()).status).toBe(200)
})

describe('After the grace period', () => {
  test.each<RpcFault>(['hang', 'huge', 'cut', 'redirect', 'malformed', 'swapped_chain'])(
    'If both RPCs fail, a refresh is 503 within seconds: %s',
    async (fault) => {
      home.grantor.clock.advance(GRACE)
      home.setFaults(fault)
      expect(await isDoneWithin(6_000, expectNotChecked())).toBe(true)
    },
  )

  test('One RPC that accepts beside one that refuses is 503, and ends nothing', async () => {
    home.grantor.clock.advance(GRACE)
    home.beside.setFault('deny')
    await expectNotChecked()
    home.beside.setFault(null)
    expect((await refresh()).status).toBe(200)
  })

  test('A code is not spent while the chain does not respond: 503, and it can be redeemed afterwards', async () => {
    home.grantor.clock.advance(GRACE)
    const { location } = await connected.walk.authorize(requestOf(home.client))
    const code = parameterOf(location, 'code')
    home.setFaults('429')
    const before = await home.grantor.rows()
    expectRefusal(await connected.walk.exchange(home.client, code), NOT_CHECKED)
    expect(await home.grantor.rows()).toEqual(before)
    home.setFaults(null)
    expect((await connected.walk.exchange(home.client, code)).status).toBe(200)
  })

  test('A token older than the current one still ends the grant: a replay needs no chain', async () => {
    const oldest = connected.tokens.refresh_token
    await refresh()
    await refresh()
    home.grantor.clock.advance(GRACE)
    home.setFaults('hang')
    const asked = await home.questions(async () =>
      expectRefusal(await connected.walk.refresh(home.client, oldest), 'invalid_grant'),
    )
    expect(asked).toEqual([])
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'refresh_replayed' })
  })

  test('Revocation works while no RPC responds', async () => {
    home.grantor.clock.advance(GRACE)
    home.setFaults('hang')
    expect((await connected.walk.revoke(home.client, connected.tokens.refresh_token)).status).toBe(200)
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'revoked' })
  })
})

test('With a grace period of 0 every refresh needs a response of the chain', async () => {
  const strict = await startOnChain({ lifetimes: { contractGrace: 0 } })
  try {
    const once = await strict.connect(await strict.walletOf(alice))
    strict.setFaults('429')
    expectRefusal(await once.walk.refresh(strict.client, once.tokens.refresh_token), NOT_CHECKED)
    strict.setFaults(null)
    expect((await once.walk.refresh(strict.client, once.tokens.refresh_token)).status).toBe(200)
  } finally {
    await strict.close()
  }
})
