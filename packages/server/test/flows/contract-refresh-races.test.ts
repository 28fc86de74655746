/** Refresh tokens of contract wallets rotate like all others, although a chain is called between reading and rotating the row. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { tokensOf } from '../support/app.ts'
import { type Connected, type HomeChain, startOnChain } from '../support/contract-login.ts'
import { expectRefusal } from '../support/refusals.ts'
import type { Answer } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeOwner, owner } from '../support/wallet-contracts.ts'

const GRACE = 3600
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

const refresh = (token: string): Promise<Answer> => connected.walk.refresh(home.client, token)
const refreshTimes = (length: number, token: string): Promise<Answer[]> =>
  Promise.all(Array.from({ length }, () => refresh(token)))
const refreshFiftyTimes = (token: string): Promise<Answer[]> => refreshTimes(50, token)

describe('Fifty simultaneous refreshes with one token', () => {
  test.each([
    ['an hour after the last check, so that each needs a check on the chain', GRACE],
    ['soon after the sign-in', 1],
  ])('Fifty simultaneous refreshes all get the same successor: %s', async (_, later) => {
    home.grantor.clock.advance(later)
    const answers = await refreshFiftyTimes(connected.tokens.refresh_token)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const successors = new Set(answers.map((answer) => tokensOf(answer).refresh_token))
    expect(successors.size).toBe(1)
    expect(await home.grantOf(connected)).toMatchObject({ generation: 1, endedAt: null })
    expect((await refresh([...successors][0] ?? '')).status).toBe(200)
  })

  test('Fifty simultaneous refreshes after the removal of the owner are all refused, and the grant ends once', async () => {
    await home.chain.send(wallet.address, changeOwner(bob.address))
    for (const answer of await refreshFiftyTimes(connected.tokens.refresh_token)) expectRefusal(answer, 'invalid_grant')
    expect(await home.grantOf(connected)).toMatchObject({ generation: 0 })
    expect((await home.grantOf(connected))?.endedAt).not.toBeNull()
    expect(await home.isActive(connected)).toBe(false)
  })

  test('If an RPC answers only some of fifty refreshes, the others get 503, there is one successor, and the grant stays valid', async () => {
    home.grantor.clock.advance(GRACE)
    const first = refreshFiftyTimes(connected.tokens.refresh_token)
    home.beside.setFault('429')
    const second = refreshFiftyTimes(connected.tokens.refresh_token)
    const answers = [...(await first), ...(await second)]
    expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
    const successors = answers.filter(({ status }) => status === 200).map((answer) => tokensOf(answer).refresh_token)
    expect(new Set(successors).size).toBeLessThanOrEqual(1)
    home.beside.setFault(null)
    expect((await refresh(successors[0] ?? connected.tokens.refresh_token)).status).toBe(200)
    expect(await home.grantOf(connected)).toMatchObject({ endedAt: null })
  })
})

test('A check in progress is shared: ten refreshes at once call each RPC once', async () => {
  // both keep it waiting until all ten have come
  home.setFaults('hang')
  const asked = await home.questions(() => refreshTimes(10, connected.tokens.refresh_token))
  expect(asked).toEqual(['eth_call', 'eth_call'])
})

describe('A refresh whose response was lost', () => {
  test('A lost refresh can be repeated within the retry window, and gets the same successor', async () => {
    const { refresh_token } = tokensOf(await refresh(connected.tokens.refresh_token))
    home.grantor.clock.advance(59)
    expect(tokensOf(await refresh(connected.tokens.refresh_token)).refresh_token).toBe(refresh_token)
    expect(await home.grantOf(connected)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('A lost refresh that is repeated after the window ends the grant (RFC 9700 §4.14.2)', async () => {
    const { access_token } = tokensOf(await refresh(connected.tokens.refresh_token))
    home.grantor.clock.advance(60)
    expectRefusal(await refresh(connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'refresh_replayed' })
    expect((await connected.walk.introspect(home.client, access_token)).json()).toEqual({ active: false })
  })

  test('A lost refresh that is repeated within the window, after the removal of the owner, ends the grant', async () => {
    await refresh(connected.tokens.refresh_token)
    await home.chain.send(wallet.address, changeOwner(bob.address))
    expectRefusal(await refresh(connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
  })
})

test('A token older than the previous one ends the grant, and no RPC is called', async () => {
  const oldest = connected.tokens.refresh_token
  const { refresh_token } = tokensOf(await refresh(oldest))
  const { refresh_token: living } = tokensOf(await refresh(refresh_token))
  const asked = await home.questions(async () => expectRefusal(await refresh(oldest), 'invalid_grant'))
  expect(asked).toEqual([])
  expect(await home.grantOf(connected)).toMatchObject({ endReason: 'refresh_replayed' })
  expectRefusal(await refresh(living), 'invalid_grant')
})

test("A refresh that would be refused anyway calls no RPC: another client's token, a scope that was not granted, an ended grant", async () => {
  const other = await home.grantor.createClient({ scopes: ['enhancement', 'profile', 'admin'] })
  const asked = await home.questions(async () => {
    expectRefusal(await connected.walk.refresh(other, connected.tokens.refresh_token), 'invalid_grant')
    expectRefusal(await connected.walk.refresh(home.client, connected.tokens.refresh_token, { scope: 'admin' }), 'invalid_scope')
    await connected.walk.revoke(home.client, connected.tokens.refresh_token)
    expectRefusal(await refresh(connected.tokens.refresh_token), 'invalid_grant')
  })
  expect(asked).toEqual([])
})

test('A grant that ends while its chain is called yields no token', async () => {
  // one RPC keeps the check waiting until the revocation is through
  home.beside.setFault('hang')
  const before = home.beside.asked.length
  const refreshed = refresh(connected.tokens.refresh_token)
  await expect.poll(() => home.beside.asked.length).toBe(before + 1)
  await connected.walk.revoke(home.client, connected.tokens.refresh_token)
  expectRefusal(await refreshed, 'invalid_grant')
  expect(await home.grantOf(connected)).toMatchObject({ endReason: 'revoked', generation: 0 })
})
