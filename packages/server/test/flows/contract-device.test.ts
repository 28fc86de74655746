/** Contract wallets (ERC-1271, ERC-6492) answer the request of a device (RFC 8628) with one signature. */
import { expect } from 'vitest'
import { claimsOf, tokensOf } from '../support/app.ts'
import type { HomeChain } from '../support/contract-login.ts'
import { allowDevice, authorizedDevice, challengeOfDevice, createDeviceClient, poll } from '../support/device.ts'
import { chainTest as base } from '../support/fixtures.ts'
import { expectRefusal } from '../support/refusals.ts'
import { Walk } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeOwner, owner } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const mallory = owner('mallory')

const test = base.extend('options', { failureLimit: 1_000_000 })

async function startDevice(home: HomeChain, wallet: TestWallet) {
  const client = await createDeviceClient(home.grantor)
  const walk = new Walk(home.grantor, wallet)
  return { client, walk, device: await authorizedDevice(walk, client) }
}

test.for(['walletOf', 'undeployedWalletOf'] as const)(
  'A contract wallet (%s) signs a device in, and its tokens and its receipt name the contract',
  async (kind, { home }) => {
    const wallet = await home[kind](alice)
    const { client, walk, device } = await startDevice(home, wallet)
    await allowDevice(walk, device)
    const tokens = tokensOf(await poll(walk, client, device))
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: wallet.address, client_id: client.id })
    const { grant_id } = claimsOf(tokens.access_token)
    expect(await home.grantor.store.grants.readGrant(grant_id)).toMatchObject({ walletKind: 'contract', wallet: wallet.address })
    expect((await walk.refresh(client, tokens.refresh_token)).status).toBe(200)
  },
)

test('A signature that the contract does not accept leaves the request of the device open', async ({ home }) => {
  const wallet = await home.walletOf(alice)
  const { client, walk, device } = await startDevice(home, wallet)
  const challenge = await challengeOfDevice(walk, device)
  const forged = await walk.proof(challenge, { ...wallet, sign: mallory.sign })
  const refused = await walk.loginApi('/login/accept', forged)
  expect([refused.status, refused.json().error]).toEqual([401, 'not_proven'])
  expectRefusal(await poll(walk, client, device), 'authorization_pending')
  await walk.complete(await walk.prove(challenge))
  home.grantor.clock.advance(5)
  expect((await poll(walk, client, device)).status).toBe(200)
})

test('If the owner of a contract wallet changes after the signature, the device gets no tokens', async ({ home }) => {
  const wallet = await home.changeableWalletOf(alice)
  const { client, walk, device } = await startDevice(home, wallet)
  await allowDevice(walk, device)
  await home.chain.send(wallet.address, changeOwner(mallory.address))
  expectRefusal(await poll(walk, client, device), 'invalid_grant')
})
