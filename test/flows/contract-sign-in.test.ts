/** Contract wallets sign in, end to end: from the authorization request to a token whose `sub` is the contract's address. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../src/wallet/address.ts'
import { claimsOf, tokensOf } from '../support/app.ts'
import { type HomeChain, startOnChain } from '../support/contract-login.ts'
import { type Safe, safes, signForSafe } from '../support/safe.ts'
import type { TestWallet } from '../support/wallet.ts'
import { answering, deploying, type Owner, oddContracts, owner, wrapSignature } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const bob = owner('bob')
const mallory = owner('mallory')

let home: HomeChain
beforeAll(async () => {
  home = await startOnChain({ failureLimit: 1_000_000 })
})
afterAll(() => home.close())
beforeEach(() => home.setFaults(null))

const withKeyOf = (wallet: TestWallet, key: Owner): TestWallet => ({ ...wallet, sign: key.sign })
/** Whoever signs: the proof is that of the contract at this address. */
const signingBy = (address: string, sign: (message: string) => string): TestWallet => ({ address, sign })

/** Signs in, and says what of it stands in the store. */
async function expectSignedIn(wallet: TestWallet): Promise<void> {
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
  // only a key of its own would close the contract path to it
  expect(await store.wallets.readWallet(address)).toMatchObject({ provedItself: false })
}

async function expectNotProven(wallet: TestWallet): Promise<void> {
  await home.expectRefused(async () => (await home.prove(wallet)).answer, 401, 'not_proven')
}

describe('a deployed contract wallet (ERC-1271)', () => {
  test('its owner signs in, and the token’s sub is the contract’s address', async () => {
    await expectSignedIn(await home.walletOf(alice))
  })

  test('a stranger does not: 401, nothing is stored, and the same challenge then takes the owner’s signature', async () => {
    const wallet = await home.walletOf(alice)
    const attempt = await home.prove(withKeyOf(wallet, mallory))
    expect([attempt.answer.status, attempt.answer.json().error]).toEqual([401, 'not_proven'])
    await home.expectRefused(() => home.proveAgain(attempt, withKeyOf(wallet, bob)), 401, 'not_proven')
    expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
  })

  test('its owner does not sign in with a signature over another text', async () => {
    const wallet = await home.walletOf(alice)
    await expectNotProven(signingBy(wallet.address, (message) => alice.sign(message.replace('Allow', 'allow'))))
  })

  test('it is asked of each RPC once, by eth_call, and no transaction is sent', async () => {
    const wallet = await home.walletOf(alice)
    const block = await home.chain.request('eth_blockNumber')
    expect(await home.questions(() => home.prove(wallet))).toEqual(['eth_call', 'eth_call'])
    expect(await home.chain.request('eth_blockNumber')).toBe(block)
  })

  test('one challenge is one login for it, too: the second proof is 409', async () => {
    const wallet = await home.walletOf(alice)
    const attempt = await home.prove(wallet)
    await home.expectRefused(() => home.proveAgain(attempt, wallet), 409, 'already_used')
    await home.finish(attempt)
    await home.expectRefused(() => home.proveAgain(attempt, wallet), 409, 'already_used')
  })

  test('of ten simultaneous proofs of one challenge one succeeds: one receipt', async () => {
    const wallet = await home.walletOf(alice)
    const { walk, challenge, answer } = await home.prove(wallet, { proof: { signature: mallory.sign('something else') } })
    expect(answer.status).toBe(401)
    const proof = await walk.proof(challenge, wallet)
    const answers = await Promise.all(Array.from({ length: 10 }, () => walk.loginApi('/login/accept', proof)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
    expect(await home.grantor.store.receipts.listReceipts(wallet.address as Address, { limit: 20 })).toHaveLength(1)
  })
})

describe('a contract wallet that is not deployed yet (ERC-6492)', () => {
  test('its owner signs in, and the chain stays as it was', async () => {
    const wallet = await home.undeployedWalletOf(alice)
    await expectSignedIn(wallet)
    expect(await home.chain.request('eth_getCode', [wallet.address, 'latest'])).toBe('0x')
  })

  test('a stranger does not: 401, and nothing is stored', async () => {
    await expectNotProven(await home.undeployedWalletOf(bob, mallory))
  })

  test('without the wrapper nobody does, not even its owner', async () => {
    await expectNotProven(withKeyOf(await home.undeployedWalletOf(bob), bob))
  })

  test('a factory that loops without end ends, and signs nobody in', async () => {
    const loop = await home.chain.deploy(deploying(oddContracts.endlessLoop))
    const { address } = await home.undeployedWalletOf(bob)
    const started = performance.now()
    const { answer } = await home.prove(signingBy(address, (message) => wrapSignature(loop, '0xc0ffee', bob.sign(message))))
    // The local EVM records every step: burning all gas may take it longer than an RPC is waited for.
    expect([
      [401, 'not_proven'],
      [503, 'temporarily_unavailable'],
    ]).toContainEqual([answer.status, answer.json().error])
    expect(performance.now() - started).toBeLessThan(10_000)
    expect(await home.grantor.store.receipts.listReceipts(address as Address, { limit: 1 })).toEqual([])
    // answers in turn: the chain is at rest for the next test
    await home.chain.request('eth_blockNumber')
  })

  test('a wrapper that deploys the claimant’s own wallet, elsewhere, signs nobody in', async () => {
    const { address } = await home.undeployedWalletOf(bob)
    await expectNotProven({ ...(await home.undeployedWalletOf(mallory)), address })
  })
})

describe('a Safe of two owners who must both sign', () => {
  let safe: Safe
  let undeployed: Safe
  const signedBy = (of: Safe, ...owners: Owner[]): TestWallet =>
    signingBy(of.address, (message) => signForSafe(message, of.address, 1, owners))
  beforeAll(async () => {
    const makeSafe = await safes(home.chain)
    safe = await makeSafe([alice, bob], 2)
    await safe.deploy()
    undeployed = await makeSafe([bob, mallory], 2)
  })

  test('signs in once both have signed', async () => {
    await expectSignedIn(signedBy(safe, alice, bob))
  })

  test('half-signed it does not: 401, and the same challenge takes both signatures later', async () => {
    const attempt = await home.prove(signedBy(safe, alice))
    expect([attempt.answer.status, attempt.answer.json().error]).toEqual([401, 'not_proven'])
    await home.expectRefused(() => home.proveAgain(attempt, signedBy(safe, alice, mallory)), 401, 'not_proven')
    expect((await home.proveAgain(attempt, signedBy(safe, alice, bob))).status).toBe(200)
  })

  test('not deployed yet it signs in the same way, wrapped, and not half-signed', async () => {
    const wrapped = (...owners: Owner[]): TestWallet => {
      const { address, sign } = signedBy(undeployed, ...owners)
      return signingBy(address, (message) => wrapSignature(undeployed.factory, undeployed.factoryCall, sign(message)))
    }
    await expectNotProven(wrapped(bob))
    await expectSignedIn(wrapped(bob, mallory))
  })
})

describe('what is no wallet signs nobody in', () => {
  test.each(['echo', 'reverts', 'revertsWithMagic', 'silent', 'longAnswer'] as const)('a contract that %s', async (kind) => {
    const odd = await home.chain.deploy(deploying(oddContracts[kind]))
    await expectNotProven(signingBy(odd, alice.sign))
  })

  test('a contract that answers “true” instead of the magic value', async () => {
    const odd = await home.chain.deploy(deploying(answering('01'.padStart(64, '0'))))
    await expectNotProven(signingBy(odd, alice.sign))
  })

  test('the zero address and the precompiles, identity among them: 403, without a question to any RPC', async () => {
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

  test('a signature that is no hexadecimal is malformed (400), and no RPC is asked', async () => {
    const wallet = await home.walletOf(alice)
    for (const signature of ['yes', '0x1', `0x${'6492'.repeat(16)}`]) {
      const asked = await home.questions(() =>
        home.expectRefused(async () => (await home.prove(wallet, { proof: { signature } })).answer, 400, 'invalid_request'),
      )
      expect(asked).toEqual([])
    }
  })
})
