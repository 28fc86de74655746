/** No RPC answers when a contract wallet's tokens are refreshed: the last good check counts for the grace period, then 503. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../src/wallet/address.ts'
import { isDoneWithin } from '../support/attempts.ts'
import type { RpcFault } from '../support/chain-rpc.ts'
import { type Connected, type HomeChain, startOnChain } from '../support/contract-login.ts'
import { expectRefusal } from '../support/refusals.ts'
import { allRows } from '../support/rows.ts'
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

/** With the living token, which moves on with each success. */
async function refresh(): Promise<Answer> {
  const answer = await connected.walk.refresh(home.client, connected.tokens.refresh_token)
  if (answer.status === 200) connected = { ...connected, tokens: answer.json() as Connected['tokens'] }
  return answer
}

async function checkedAt(): Promise<number | undefined> {
  const [receipt] = await home.grantor.store.receipts.listReceipts(wallet.address as Address, { limit: 1 })
  return receipt?.checkedAt
}

/** 503 with Retry-After, and not a row is touched. */
async function expectNotChecked(): Promise<void> {
  const before = allRows(home.grantor.databasePath)
  expectRefusal(await refresh(), NOT_CHECKED)
  expect(allRows(home.grantor.databasePath)).toEqual(before)
}

test('to the last second of the grace period refreshes go on as they were; the next second is 503, and the token stays good', async () => {
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

test('a good check begins the grace period anew, a check that nobody answered does not', async () => {
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

test('access tokens are told active meanwhile: introspection asks no chain', async () => {
  home.setFaults('hang')
  const asked = await home.questions(async () => expect(await home.isActive(connected)).toBe(true))
  expect(asked).toEqual([])
})

test('an owner removed while no RPC answered is found out by the first check that is answered', async () => {
  home.setFaults('429')
  await home.chain.send(wallet.address, changeOwner(bob.address))
  expect((await refresh()).status).toBe(200)
  home.grantor.clock.advance(GRACE)
  await expectNotChecked()
  home.setFaults(null)
  expectRefusal(await refresh(), 'invalid_grant')
  expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
})

test('a clock set back does not lengthen the grace: a last check in the future counts for nothing', async () => {
  home.grantor.clock.advance(GRACE)
  await refresh()
  home.setFaults('429')
  home.grantor.clock.advance(-1)
  await expectNotChecked()
  home.grantor.clock.advance(1)
  expect((await refresh()).status).toBe(200)
})

describe('past the grace period', () => {
  test.each<RpcFault>(['hang', 'huge', 'cut', 'redirect', 'malformed', 'swapped_chain'])(
    'both RPCs at fault are 503 within seconds: %s',
    async (fault) => {
      home.grantor.clock.advance(GRACE)
      home.setFaults(fault)
      expect(await isDoneWithin(6_000, expectNotChecked())).toBe(true)
    },
  )

  test('one RPC that says yes beside one that says no is 503, and ends nothing', async () => {
    home.grantor.clock.advance(GRACE)
    home.beside.setFault('deny')
    await expectNotChecked()
    home.beside.setFault(null)
    expect((await refresh()).status).toBe(200)
  })

  test('a code is not spent by a chain that does not answer: 503, and it is redeemed when the chain is back', async () => {
    home.grantor.clock.advance(GRACE)
    const { location } = await connected.walk.authorize(requestOf(home.client))
    const code = parameterOf(location, 'code')
    home.setFaults('429')
    const before = allRows(home.grantor.databasePath)
    expectRefusal(await connected.walk.exchange(home.client, code), NOT_CHECKED)
    expect(allRows(home.grantor.databasePath)).toEqual(before)
    home.setFaults(null)
    expect((await connected.walk.exchange(home.client, code)).status).toBe(200)
  })

  test('a token used before the one that lives still ends the grant: a replay is no question to a chain', async () => {
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

  test('a revocation works as ever', async () => {
    home.grantor.clock.advance(GRACE)
    home.setFaults('hang')
    expect((await connected.walk.revoke(home.client, connected.tokens.refresh_token)).status).toBe(200)
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'revoked' })
  })
})

test('with a grace of 0 every refresh needs an answer', async () => {
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
