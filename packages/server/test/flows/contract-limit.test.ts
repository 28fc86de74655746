/** Contract wallets (ERC-1271, ERC-6492) sign a limit, and the limit ends when the owners of the contract change. */
import { describe, expect } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { readConsent } from '../../src/protocol/wallet/read-consent.ts'
import { appOf, claimsOf } from '../support/app.ts'
import { API, createApi } from '../support/approvals.ts'
import type { HomeChain } from '../support/contract-login.ts'
import { allowDevice, authorizedDevice, createDeviceClient, poll } from '../support/device.ts'
import { chainTest, FILE } from '../support/fixtures.ts'
import { limitAppOf, signInWith, WEEKLY } from '../support/limits.ts'
import { expectRefusal } from '../support/refusals.ts'
import { safes, signForSafe, swapOwnerCall } from '../support/safe.ts'
import { Walk } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeOwner, type Owner, owner, wrapSignature } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const bob = owner('bob')
const mallory = owner('mallory')
const CHOSEN = { uses: '3', each: '1', amount: '3' }

const test = chainTest
  .extend('options', FILE, () => ({ failureLimit: 1_000_000 }))
  .extend('makeSafe', FILE, ({ home }) => safes(home.chain))
  .extend('parties', FILE, async ({ home: { grantor } }) => {
    const client = await grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [API] })
    const api = await createApi(grantor)
    await limitAppOf(appOf(grantor, client, new Walk(grantor)), api).register(WEEKLY)
    return { client, api }
  })
  // the app of a user with this wallet, in a browser of its own
  .extend(
    'appWith',
    FILE,
    ({ home: { grantor }, parties: { client, api } }) =>
      (wallet: TestWallet) =>
        limitAppOf(appOf(grantor, client, new Walk(grantor, wallet)), api),
  )

test.beforeEach(({ home }) => home.setFaults(null))

/** A wallet at this address, whose signatures `sign` makes. */
const walletAt = (address: string, sign: (message: string) => string): TestWallet => ({ address, sign })

/** Makes a wallet, and what replaces one of its owners. */
type Make = (given: { home: HomeChain; makeSafe: Awaited<ReturnType<typeof safes>> }) => Promise<{
  wallet: TestWallet
  replaceOwner(): Promise<void>
}>

const KINDS: [name: string, make: Make][] = [
  [
    'a contract of one owner',
    async ({ home }) => {
      const wallet = await home.changeableWalletOf(alice)
      return { wallet, replaceOwner: () => home.chain.send(wallet.address, changeOwner(mallory.address)) }
    },
  ],
  [
    'a Safe of two owners',
    async ({ home, makeSafe }) => {
      const { address, deploy } = await makeSafe([alice, bob], 2)
      await deploy()
      const wallet = walletAt(address, (message) => signForSafe(message, address, 1, [alice, bob]))
      return { wallet, replaceOwner: () => home.chain.sendAs(address, address, swapOwnerCall(alice, mallory)) }
    },
  ],
  [
    'a Safe that is not deployed',
    async ({ home, makeSafe }) => {
      const { address, factory, factoryCall, deploy } = await makeSafe([bob, alice], 2)
      const sign = (message: string) => wrapSignature(factory, factoryCall, signForSafe(message, address, 1, [alice, bob]))
      const replaceOwner = async () => {
        await deploy()
        await home.chain.sendAs(address, address, swapOwnerCall(bob, mallory))
      }
      return { wallet: walletAt(address, sign), replaceOwner }
    },
  ],
]

test.for(KINDS)(
  'A limit that %s signs is drawn from, and ends with the first refresh after an owner was replaced',
  async ([, make], { home, makeSafe, appWith }) => {
    const { wallet, replaceOwner } = await make({ home, makeSafe })
    const app = appWith(wallet)
    const { code, message } = await signInWith(app.walk, app.request(), CHOSEN)
    expect(readConsent(message)?.limit).toMatchObject({ scope: 'enhancement', limit: { uses: 3, each: 100, amount: 300 } })
    const tokens = (await app.walk.exchange(app.client, code)).json() as { access_token: string; refresh_token: string }
    const { sub, grant_id: grantId } = claimsOf(tokens.access_token)
    expect(sub).toBe(wallet.address)
    expect(await home.grantor.store.grants.readGrant(grantId)).toMatchObject({
      walletKind: 'contract',
      signedLimit: { limit: { ...WEEKLY, uses: 3, each: 100, amount: 300 } },
    })

    const first = await app.draw(tokens.access_token, { key: 'first', amount: '100' })
    expect(first.json()).toMatchObject({ draw: 1, left: { uses: 2, amount: 200 } })
    const next = (await app.walk.refresh(app.client, tokens.refresh_token)).json() as typeof tokens
    expect((await app.draw(next.access_token, { amount: '100' })).json()).toMatchObject({ draw: 2, left: { uses: 1 } })

    await replaceOwner()
    expectRefusal(await app.walk.refresh(app.client, next.refresh_token), 'invalid_grant')
    expect(await home.grantor.store.grants.readGrant(grantId)).toMatchObject({ endReason: 'wallet_changed' })
    for (const token of [tokens.access_token, next.access_token])
      expect((await app.draw(token, { amount: '100' })).json().error).toBe('token_inactive')
    // What was drawn before is answered again, and given back.
    expect((await app.draw(next.access_token, { key: 'first', amount: '100' })).json()).toEqual(first.json())
    expect((await app.giveBack({ grant_id: grantId, key: 'first', amount: '100' })).json()).toEqual({ draw: 1, returned: 100 })
  },
)

describe('The owners and the chain', () => {
  test('A draw calls no RPC, so an API also draws while no RPC responds', async ({ home, appWith }) => {
    const app = appWith(await home.changeableWalletOf(alice))
    const { access_token: token } = await app.signedTokens(CHOSEN)
    home.setFaults('429')
    expect(await home.questions(async () => expect((await app.draw(token, { amount: '100' })).status).toBe(200))).toEqual([])
  })

  test('A code with a limit that a former owner signed creates no grant, and the new owner signs a limit of its own', async ({
    home,
    appWith,
  }) => {
    const wallet = await home.changeableWalletOf(alice)
    const former = appWith(wallet)
    const { code } = await signInWith(former.walk, former.request(), CHOSEN)
    await home.chain.send(wallet.address, changeOwner(bob.address))
    expectRefusal(await former.walk.exchange(former.client, code), 'invalid_grant')
    const grants = () => home.grantor.store.grants.listGrants({ wallet: wallet.address as Address, limit: 5 })
    expect(await grants()).toEqual([])
    const present = appWith({ ...wallet, sign: bob.sign })
    const { access_token: token } = await present.signedTokens()
    expect((await present.draw(token)).json()).toMatchObject({ draw: 1, left: { uses: 19, amount: 45_500 } })
    expect(await grants()).toHaveLength(1)
  })

  test('An owner alone signs no limit of a Safe of two owners, also not a lower one than both signed', async ({
    appWith,
    makeSafe,
  }) => {
    const { address, deploy } = await makeSafe([bob, mallory], 2)
    await deploy()
    const signedBy = (...owners: Owner[]) => walletAt(address, (message) => signForSafe(message, address, 1, owners))
    const app = appWith(signedBy(bob, mallory))
    const challenge = await app.walk.challenge(app.request())
    const claim = { login_challenge: challenge, address, chain_id: 1, limit: CHOSEN }
    const message = (await app.walk.loginApi('/login/message', claim)).json().message as string
    const sent = (wallet: TestWallet, limit = CHOSEN) =>
      app.walk.loginApi('/login/accept', { ...claim, limit, signature: wallet.sign(message) })
    expect((await sent(signedBy(bob))).json().error).toBe('not_proven')
    expect((await sent(signedBy(bob, mallory), { ...CHOSEN, uses: '2' })).json().error).toBe('not_proven')
    expect((await sent(signedBy(bob, mallory))).status).toBe(200)
  })

  test('If the owner changes after the signature for a device, the device gets no tokens and there is no counter', async ({
    home,
    appWith,
  }) => {
    const wallet = await home.changeableWalletOf(alice)
    const app = appWith(wallet)
    const client = await createDeviceClient(home.grantor, { resources: [API] })
    const device = await authorizedDevice(app.walk, client, { resource: API, scope: 'enhancement' })
    await allowDevice(app.walk, device)
    await home.chain.send(wallet.address, changeOwner(mallory.address))
    expectRefusal(await poll(app.walk, client, device), 'invalid_grant')
    expect(await home.grantor.store.grants.listGrants({ wallet: wallet.address as Address, limit: 5 })).toEqual([])
  })
})
