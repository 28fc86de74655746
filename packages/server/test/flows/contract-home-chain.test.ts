/**
 * One address can have different owners on two chains. Contract wallets therefore sign in on the home chain only, ordinary wallets on any
 * allowed chain.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startChain, type TestChain } from '../support/chain.ts'
import { type HomeChain, startOnChain } from '../support/contract-login.ts'
import { startGrantor } from '../support/start.ts'
import { redirectPath, requestOf, Walk } from '../support/walk.ts'
import { type TestWallet, testWallet } from '../support/wallet.ts'
import {
  changeableWallet,
  changeOwner,
  create2Address,
  create2Call,
  create2Factory,
  deploying,
  owner,
} from '../support/wallet-contracts.ts'

const AWAY = 8453
const alice = owner('alice')
const mallory = owner('mallory')

let home: HomeChain
let away: TestChain
/** Alice owns this contract on the home chain. Mallory owns the contract at the same address on the other chain. */
let address: string
beforeAll(async () => {
  away = await startChain({ chainId: AWAY })
  home = await startOnChain({ moreChains: [away] })
  const initCode = changeableWallet(alice.address)
  for (const chain of [home.chain, away]) {
    const factory = await chain.deploy(deploying(create2Factory))
    await chain.send(factory, create2Call(initCode))
    address = create2Address(factory, initCode)
    expect(await chain.request('eth_getCode', [address, 'latest'])).not.toBe('0x')
  }
  await away.send(address, changeOwner(mallory.address))
  away.asked.length = 0
})
afterAll(async () => {
  await home.close()
  await away.close()
})

/** Sends a signature over the text that names this chain. */
async function proveOn(chainId: number, wallet: TestWallet, of = home.grantor, client = home.client) {
  const walk = new Walk(of)
  const claim = { login_challenge: await walk.challenge(requestOf(client)), address: wallet.address, chain_id: chainId }
  const { message } = (await walk.loginApi('/login/message', claim)).json()
  const answer = await walk.loginApi('/login/accept', { ...claim, signature: wallet.sign(message as string) })
  return { walk, answer }
}

test('The owner of the address on another chain cannot sign in, on that chain or on the home chain: 401, and nothing is stored', async () => {
  for (const chainId of [AWAY, 1]) {
    await home.expectRefused(async () => (await proveOn(chainId, { address, sign: mallory.sign })).answer, 401, 'not_proven')
  }
  expect(away.asked).toEqual([])
})

test('The owner on the home chain cannot sign in with a text of another chain: 401, and no RPC is called', async () => {
  const calls = await home.questions(() =>
    home.expectRefused(async () => (await proveOn(AWAY, { address, sign: alice.sign })).answer, 401, 'not_proven'),
  )
  expect([...calls, ...away.asked]).toEqual([])
})

test('The owner on the home chain signs in on the home chain', async () => {
  expect((await proveOn(1, { address, sign: alice.sign })).answer.status).toBe(200)
})

test('An ordinary wallet signs in on every allowed chain, and no RPC is called', async () => {
  const calls = await home.questions(async () => {
    for (const chainId of [1, AWAY]) {
      const { walk, answer } = await proveOn(chainId, testWallet(0))
      expect((await walk.complete(redirectPath(answer))).status).toBe(200)
    }
  })
  expect([...calls, ...away.asked]).toEqual([])
})

test('A chain with an RPC that is not an allowed chain is refused: 403', async () => {
  const grantor = await startGrantor({
    settings: { chainIds: [1] },
    chains: [
      { chainId: 1, name: 'Home', rpc: [home.chain.url], home: true },
      { chainId: AWAY, name: 'Away', rpc: [away.url], home: false },
    ],
  })
  try {
    const walk = new Walk(grantor)
    const client = await grantor.createClient()
    const claim = { login_challenge: await walk.challenge(requestOf(client)), address, chain_id: AWAY }
    for (const path of ['/login/message', '/login/accept']) {
      const answer = await walk.loginApi(path, { ...claim, signature: mallory.sign('') })
      expect([answer.status, answer.json().error]).toEqual([403, 'chain_not_allowed'])
    }
    expect(away.asked).toEqual([])
  } finally {
    await grantor.close()
  }
})

test('Without a configured chain a contract wallet cannot sign in: 401, and nothing is stored', async () => {
  const grantor = await startGrantor()
  try {
    const client = await grantor.createClient()
    const { answer } = await proveOn(1, { address, sign: alice.sign }, grantor, client)
    expect([answer.status, answer.json().error]).toEqual([401, 'not_proven'])
    expect(await grantor.store.receipts.listReceipts(address as `0x${string}`, { limit: 1 })).toEqual([])
  } finally {
    await grantor.close()
  }
})

test('A signature that only a contract could accept is malformed if no contract is called: 400', async () => {
  const attempt = () => proveOn(AWAY, { address, sign: () => `0x${'11'.repeat(130)}` })
  await home.expectRefused(async () => (await attempt()).answer, 400, 'invalid_request')
})
