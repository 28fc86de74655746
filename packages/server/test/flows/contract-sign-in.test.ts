/** Contract wallets sign in end to end, from the authorization request to a token whose `sub` is the contract's address. */
import { describe, expect } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { claimsOf, tokensOf } from '../support/app.ts'
import type { HomeChain } from '../support/contract-login.ts'
import { chainTest as base } from '../support/fixtures.ts'
import { type Safe, safes, signForSafe } from '../support/safe.ts'
import type { TestWallet } from '../support/wallet.ts'
import { answering, deploying, type Owner, oddContracts, owner, wrapSignature } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const bob = owner('bob')
const mallory = owner('mallory')

const test = base.extend('options', { failureLimit: 1_000_000 })

test.beforeEach(({ home }) => home.setFaults(null))

const withKeyOf = (wallet: TestWallet, key: Owner): TestWallet => ({ ...wallet, sign: key.sign })
/** A wallet at this address, whose signatures `sign` makes. */
const walletAt = (address: string, sign: (message: string) => string): TestWallet => ({ address, sign })

/** Signs in, and checks the token, the grant, the session and the receipt. */
async function expectSignedIn(home: HomeChain, wallet: TestWallet): Promise<void> {
  const attempt = await home.prove(wallet)
  expect(attempt.answer.status).toBe(200)
  const tokens = tokensOf(await attempt.walk.exchange(home.client, await home.finish(attempt)))
  expect((await attempt.walk.introspect(home.client, tokens.access_token)).json()).toMatchObject({
    active: true,
    sub: wallet.address,
  })
  const { store, clock } = home.grantor
  const address = wallet.address as Address
  expect(await store.grants.readGrant(claimsOf(tokens.access_token).grant_id)).toMatchObject({
    walletKind: 'contract',
    wallet: address,
  })
  expect(await store.sessions.listSessions(address, { at: clock.now(), limit: 2 })).toMatchObject([
    { walletKind: 'contract', method: 'signature' },
  ])
  expect(await store.receipts.listReceipts(address, { limit: 2 })).toMatchObject([{ walletKind: 'contract', chainId: 1 }])
  // Only a proof by its own key would set this, and would prevent contract sign-in.
  expect(await store.wallets.readWallet(address)).toMatchObject({ provedItself: false })
}

async function expectNotProven(home: HomeChain, wallet: TestWallet): Promise<void> {
  await home.expectRefused(async () => (await home.prove(wallet)).answer, 401, 'not_proven')
}

describe('A deployed contract wallet (ERC-1271)', () => {
  test("The owner of a contract wallet signs in, and the token's sub is the address of the contract", async ({ home }) => {
    await expectSignedIn(home, await home.walletOf(alice))
  })

  test("A stranger cannot sign in: 401, nothing is stored, and the same challenge accepts the owner's signature afterwards", async ({
    home,
  }) => {
    const wallet = await home.walletOf(alice)
    const attempt = await home.prove(withKeyOf(wallet, mallory))
    expect([attempt.answer.status, attempt.answer.json().error]).toEqual([401, 'not_proven'])
    await home.expectRefused(() => home.proveAgain(attempt, withKeyOf(wallet, bob)), 401, 'not_proven')
    expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
  })

  test('The owner cannot sign in with a signature over another text', async ({ home }) => {
    const wallet = await home.walletOf(alice)
    await expectNotProven(
      home,
      walletAt(wallet.address, (message) => alice.sign(message.replace('Allow', 'allow'))),
    )
  })

  test('Each RPC is called once with eth_call, and no transaction is sent', async ({ home }) => {
    const wallet = await home.walletOf(alice)
    const block = await home.chain.request('eth_blockNumber')
    expect(await home.questions(() => home.prove(wallet))).toEqual(['eth_call', 'eth_call'])
    expect(await home.chain.request('eth_blockNumber')).toBe(block)
  })

  test('One challenge is one login for a contract wallet too: the second proof is 409', async ({ home }) => {
    const wallet = await home.walletOf(alice)
    const attempt = await home.prove(wallet)
    await home.expectRefused(() => home.proveAgain(attempt, wallet), 409, 'already_used')
    await home.finish(attempt)
    await home.expectRefused(() => home.proveAgain(attempt, wallet), 409, 'already_used')
  })

  test('Of ten simultaneous proofs of one challenge one succeeds, with one receipt', async ({ home }) => {
    const wallet = await home.walletOf(alice)
    const { walk, challenge, answer } = await home.prove(wallet, { proof: { signature: mallory.sign('something else') } })
    expect(answer.status).toBe(401)
    const proof = await walk.proof(challenge, wallet)
    const answers = await Promise.all(Array.from({ length: 10 }, () => walk.loginApi('/login/accept', proof)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
    expect(await home.grantor.store.receipts.listReceipts(wallet.address as Address, { limit: 20 })).toHaveLength(1)
  })
})

describe('A contract wallet that is not deployed yet (ERC-6492)', () => {
  test('The owner of a contract wallet that is not deployed signs in, and the chain does not change', async ({ home }) => {
    const wallet = await home.undeployedWalletOf(alice)
    await expectSignedIn(home, wallet)
    expect(await home.chain.request('eth_getCode', [wallet.address, 'latest'])).toBe('0x')
  })

  test('A stranger cannot sign in for a wallet that is not deployed: 401, and nothing is stored', async ({ home }) => {
    await expectNotProven(home, await home.undeployedWalletOf(bob, mallory))
  })

  test('Without the wrapper of ERC-6492 even the owner cannot sign in', async ({ home }) => {
    await expectNotProven(home, withKeyOf(await home.undeployedWalletOf(bob), bob))
  })

  test('A factory that loops forever is stopped, and signs no wallet in', async ({ home }) => {
    const loop = await home.chain.deploy(deploying(oddContracts.endlessLoop))
    const { address } = await home.undeployedWalletOf(bob)
    const started = performance.now()
    const { answer } = await home.prove(walletAt(address, (message) => wrapSignature(loop, '0xc0ffee', bob.sign(message))))
    // The local EVM records every step, so running out of gas may take longer than the timeout of an RPC.
    expect([
      [401, 'not_proven'],
      [503, 'temporarily_unavailable'],
    ]).toContainEqual([answer.status, answer.json().error])
    expect(performance.now() - started).toBeLessThan(10_000)
    expect(await home.grantor.store.receipts.listReceipts(address as Address, { limit: 1 })).toEqual([])
    // The chain handles requests in order, so it is idle for the next test after this one.
    await home.chain.request('eth_blockNumber')
  })

  test('A wrapper that deploys a wallet of the claimant at another address signs no wallet in', async ({ home }) => {
    const { address } = await home.undeployedWalletOf(bob)
    await expectNotProven(home, { ...(await home.undeployedWalletOf(mallory)), address })
  })
})

describe('A Safe of two owners who must both sign', () => {
  let safe: Safe
  let undeployed: Safe
  const signedBy = (of: Safe, ...owners: Owner[]): TestWallet =>
    walletAt(of.address, (message) => signForSafe(message, of.address, 1, owners))
  test.beforeAll(async ({ home }) => {
    const makeSafe = await safes(home.chain)
    safe = await makeSafe([alice, bob], 2)
    await safe.deploy()
    undeployed = await makeSafe([bob, mallory], 2)
  })

  test('A Safe signs in when both owners have signed', async ({ home }) => {
    await expectSignedIn(home, signedBy(safe, alice, bob))
  })

  test('A Safe with one of two signatures is refused with 401, and the same challenge accepts both signatures later', async ({
    home,
  }) => {
    const attempt = await home.prove(signedBy(safe, alice))
    expect([attempt.answer.status, attempt.answer.json().error]).toEqual([401, 'not_proven'])
    await home.expectRefused(() => home.proveAgain(attempt, signedBy(safe, alice, mallory)), 401, 'not_proven')
    expect((await home.proveAgain(attempt, signedBy(safe, alice, bob))).status).toBe(200)
  })

  test('A Safe that is not deployed signs in in the same way, wrapped, and not with one signature', async ({ home }) => {
    const wrapped = (...owners: Owner[]): TestWallet => {
      const { address, sign } = signedBy(undeployed, ...owners)
      return walletAt(address, (message) => wrapSignature(undeployed.factory, undeployed.factoryCall, sign(message)))
    }
    await expectNotProven(home, wrapped(bob))
    await expectSignedIn(home, wrapped(bob, mallory))
  })
})

describe('Contracts that are not wallets', () => {
  test.for(['echo', 'reverts', 'revertsWithMagic', 'silent', 'longAnswer'] as const)(
    'A contract is refused as a wallet: %s',
    async (kind, { home }) => {
      const odd = await home.chain.deploy(deploying(oddContracts[kind]))
      await expectNotProven(home, walletAt(odd, alice.sign))
    },
  )

  test('A contract that returns "true" instead of the magic value is refused', async ({ home }) => {
    const odd = await home.chain.deploy(deploying(answering('01'.padStart(64, '0'))))
    await expectNotProven(home, walletAt(odd, alice.sign))
  })

  test('The zero address and precompiles, the identity precompile too, are refused with 403 before any call to an RPC', async ({
    home,
  }) => {
    const { walk, challenge } = await home.prove(await home.walletOf(alice))
    const asked = await home.questions(async () => {
      for (const last of [0, 1, 4, 9, 0xff]) {
        const address = `0x${last.toString(16).padStart(40, '0')}`
        const claim = { login_challenge: challenge, address, chain_id: 1 }
        for (const signature of [alice.sign('garbage'), `0x${'00'.repeat(65)}`, wrapSignature(address, '0x', '0x')]) {
          await home.expectRefused(() => walk.loginApi('/login/accept', { ...claim, signature }), 403, 'address_not_allowed')
        }
      }
    })
    expect(asked).toEqual([])
  })

  test('A signature that is not hexadecimal is malformed (400), and no RPC is called', async ({ home }) => {
    const wallet = await home.walletOf(alice)
    for (const signature of ['yes', '0x1', `0x${'6492'.repeat(16)}`]) {
      const asked = await home.questions(() =>
        home.expectRefused(async () => (await home.prove(wallet, { proof: { signature } })).answer, 400, 'invalid_request'),
      )
      expect(asked).toEqual([])
    }
  })
})
