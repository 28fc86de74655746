/** Ordinary wallets on a service with RPCs: no request about them is sent to an RPC, and no RPC can sign in as them. */
import { describe, expect } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { tokensOf } from '../support/app.ts'
import type { HomeChain } from '../support/contract-login.ts'
import { chainTest as test } from '../support/fixtures.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { type TestWallet, testWallet } from '../support/wallet.ts'
import { answering, deploying, digits, ownedWallet, owner } from '../support/wallet-contracts.ts'

const YES_TO_ALL = answering('1626ba7e'.padEnd(64, '0'))
const mallory = owner('mallory')

test.beforeEach(({ home }) => home.setFaults(null))

const readWallet = (home: HomeChain, wallet: TestWallet) => home.grantor.store.wallets.readWallet(wallet.address as Address)
const signedByMallory = ({ address }: TestWallet): TestWallet => ({ address, sign: mallory.sign })

describe('Ordinary wallets need no RPC', () => {
  test('An ordinary wallet signs in, refreshes and opens the account page without a call to an RPC, also the first time', async ({
    home,
  }) => {
    const calls = await home.questions(async () => {
      const walk = new Walk(home.grantor, testWallet(0))
      const { code } = await walk.signIn(requestOf(home.client))
      const tokens = tokensOf(await walk.exchange(home.client, code))
      const refreshed = await walk.refresh(home.client, tokens.refresh_token)
      expect(refreshed.status).toBe(200)
      await walk.introspect(home.client, tokensOf(refreshed).access_token)
      await walk.browse({ path: '/account' })
      await walk.signIn(requestOf(home.client, { prompt: 'login' }))
    })
    expect(calls).toEqual([])
    expect(await readWallet(home, testWallet(0))).toMatchObject({ provedItself: true })
  })

  test('Ordinary wallets sign in and refresh while every RPC is unavailable', async ({ home }) => {
    home.setFaults('hang')
    const asked = await home.questions(async () => {
      const walk = new Walk(home.grantor, testWallet(1))
      const tokens = tokensOf(await walk.exchange(home.client, (await walk.signIn(requestOf(home.client))).code))
      expect((await walk.refresh(home.client, tokens.refresh_token)).status).toBe(200)
    })
    expect(asked).toEqual([])
  })
})

describe('An account that delegates to a contract (EIP-7702)', () => {
  const account = owner('an account that delegates')
  const wallet: TestWallet = account
  test.beforeAll(async ({ home }) => {
    const delegate = await home.chain.deploy(deploying(ownedWallet(mallory.address)))
    await home.chain.setCode(account.address, `0xef0100${digits(delegate)}`)
  })

  test("The contract of an account cannot sign in for the account before the account's key was seen: 401", async ({ home }) => {
    expect(await readWallet(home, wallet)).toEqual({ epoch: 0, provedItself: false })
    await home.expectRefused(async () => (await home.prove(signedByMallory(wallet))).answer, 401, 'not_proven')
  })

  test('A contract that accepts every signature cannot sign in for an account that delegates to it', async ({ home }) => {
    const other = owner('another account that delegates')
    const delegate = await home.chain.deploy(deploying(YES_TO_ALL))
    await home.chain.setCode(other.address, `0xef0100${digits(delegate)}`)
    await home.expectRefused(async () => (await home.prove(signedByMallory(other))).answer, 401, 'not_proven')
  })

  test('An account that delegates to a contract signs in with its own key, without a call to an RPC', async ({ home }) => {
    const asked = await home.questions(async () => {
      const attempt = await home.prove(wallet)
      expect(await home.finish(attempt)).not.toBe('')
    })
    expect(asked).toEqual([])
    const [session] = await home.grantor.store.sessions.listSessions(account.address, { at: home.grantor.clock.now(), limit: 1 })
    expect(session).toMatchObject({ walletKind: 'ordinary' })
  })

  test("After a sign-in with the account's key, the contract still cannot sign in for the account: 401", async ({ home }) => {
    await home.expectRefused(async () => (await home.prove(signedByMallory(wallet))).answer, 401, 'not_proven')
  })
})

describe('An address that has signed with its own key', () => {
  const account = owner('an account at which code appears')
  const forged = signedByMallory(account)
  test.beforeAll(async ({ home }) => {
    await home.finish(await home.prove(account))
    // No chain allows this today, but an RPC that lies can report it.
    await home.chain.setCode(account.address, `0x${YES_TO_ALL}`)
  })

  test('An address that has signed with its own key is never accepted as a contract, also if code appears there: 401', async ({
    home,
  }) => {
    await home.expectRefused(async () => (await home.prove(forged)).answer, 401, 'not_proven')
  })

  test('An address that has signed with its own key is not accepted as a contract even if both RPCs accept everything', async ({
    home,
  }) => {
    home.setFaults('lie')
    await home.expectRefused(async () => (await home.prove(forged)).answer, 401, 'not_proven')
  })

  test('An address that has signed with its own key can still sign in with this key', async ({ home }) => {
    expect(await home.finish(await home.prove(account))).not.toBe('')
  })

  test('The contract at another address with the same code is called: only the history of the address counts', async ({
    home,
  }) => {
    const stranger = owner('never seen')
    await home.chain.setCode(stranger.address, `0x${YES_TO_ALL}`)
    const asked = await home.questions(async () => expect((await home.prove(signedByMallory(stranger))).answer.status).toBe(200))
    expect(asked).toEqual(['eth_call', 'eth_call'])
  })

  test("The first signature with the address's own key ends what the contract was granted before: the next refresh is refused", async ({
    home,
  }) => {
    const late = owner('whose key is seen late')
    await home.chain.setCode(late.address, `0x${YES_TO_ALL}`)
    const attempt = await home.prove(signedByMallory(late))
    const tokens = tokensOf(await attempt.walk.exchange(home.client, await home.finish(attempt)))
    const unused = await attempt.walk.authorize(requestOf(home.client))
    await home.finish(await home.prove(late))
    const refused = await attempt.walk.refresh(home.client, tokens.refresh_token)
    expect([refused.status, refused.json().error]).toEqual([400, 'invalid_grant'])
    expect((await attempt.walk.introspect(home.client, tokens.access_token)).json()).toEqual({ active: false })
    const code = new URL(unused.location).searchParams.get('code') ?? ''
    expect((await attempt.walk.exchange(home.client, code)).json().error).toBe('invalid_grant')
  })
})
