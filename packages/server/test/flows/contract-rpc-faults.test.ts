/** Faulty RPCs during the sign-in of a contract wallet never cause a login or the error "wrong signature", and lose nothing. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { isDoneWithin } from '../support/attempts.ts'
import { UNHELPFUL } from '../support/chain-rpc.ts'
import { type HomeChain, startOnChain } from '../support/contract-login.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { type TestWallet, testWallet } from '../support/wallet.ts'
import { owner } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const mallory = owner('mallory')

let home: HomeChain
let wallet: TestWallet
beforeAll(async () => {
  // Only one failure is allowed, because a proof that could not be checked must not count as a failure.
  home = await startOnChain({ failureLimit: 1, limits: { contract_checks: 1000 } })
})
beforeEach(async () => {
  home.setFaults(null)
  wallet = await home.walletOf(alice)
})
afterAll(() => home.close())

const forged = (): TestWallet => ({ ...wallet, sign: mallory.sign })

/** Expects 503 and no stored row. Then, without the faults, the same challenge accepts the owner's signature. */
async function expectUnavailable(): Promise<void> {
  const before = await home.grantor.rows()
  const [attempt, forgery] = await Promise.all([home.prove(wallet), home.prove(forged())])
  for (const { answer } of [attempt, forgery]) {
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
    expect(answer.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'The wallet could not be checked right now. Try again in a moment.',
    })
  }
  expect(await home.grantor.rows()).toEqual(before)
  home.setFaults(null)
  const again = await home.proveAgain(attempt, wallet)
  expect(again.status).toBe(200)
  expect(await home.finish({ ...attempt, answer: again })).not.toBe('')
}

describe('If both RPCs fail, the owner and a forger both get 503 with Retry-After, and the challenge works later', () => {
  test.each(UNHELPFUL)(
    'While both RPCs fail (%s), the owner and a forger both get 503 with Retry-After, and the challenge works later',
    async (fault) => {
      home.setFaults(fault)
      expect(await isDoneWithin(6_000, expectUnavailable())).toBe(true)
    },
  )
})

describe('If one RPC fails beside one that works, the result is the same', () => {
  test.each(UNHELPFUL)(
    'While one of two RPCs fails (%s), the owner and a forger both get 503 with Retry-After, and the challenge works later',
    async (fault) => {
      home.beside.setFault(fault)
      await expectUnavailable()
    },
  )
})

describe('One RPC lies beside an honest one', () => {
  test('An RPC that accepts everything gives a forger 503 and never a login, whichever RPC it is; the owner signs in', async () => {
    for (const rpc of [home.chain, home.beside]) {
      home.setFaults(null)
      rpc.setFault('lie')
      const attempt = await home.prove(forged())
      await home.expectRefused(() => home.proveAgain(attempt, forged()), 503, 'temporarily_unavailable')
      expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
    }
  })

  test('An RPC that refuses everything gives the owner 503 and never "wrong signature"; the challenge stays valid', async () => {
    home.beside.setFault('deny')
    const attempt = await home.prove(wallet)
    await home.expectRefused(() => home.proveAgain(attempt, wallet), 503, 'temporarily_unavailable')
    home.beside.setFault(null)
    expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
  })
})

test('Two RPCs with the same lie sign in no address without a key and nothing that is not a signature', async () => {
  home.setFaults('lie')
  const zero = `0x${'0'.repeat(40)}`
  const { walk, challenge } = await home.prove(wallet)
  const claim = { login_challenge: challenge, address: zero, chain_id: 1, signature: alice.sign('') }
  await home.expectRefused(() => walk.loginApi('/login/accept', claim), 403, 'address_not_allowed')
  await home.expectRefused(
    async () => (await home.prove(wallet, { walk: from('203.0.113.8'), proof: { signature: 'yes' } })).answer,
    400,
    'invalid_request',
  )
})

test('A redirect of an RPC is not followed, and neither its response nor its URL reaches the user or the log', async () => {
  const lines = home.grantor.logLines.length
  home.setFaults({ body: '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"words of the RPC"}}' })
  const { answer } = await home.prove(wallet, { walk: from('203.0.113.12') })
  home.setFaults('redirect')
  await home.prove(wallet, { walk: from('203.0.113.12') })
  expect([...home.chain.asked, ...home.beside.asked]).not.toContain('elsewhere')
  const output = answer.body + home.grantor.logLines.slice(lines).join('')
  expect(output).toContain('error_-32000')
  expect(answer.body).not.toContain('error_-32000')
  for (const secret of ['words of the RPC', 'secret-key-of-the-operator', wallet.address, alice.sign('').slice(0, 12)]) {
    expect(output).not.toContain(secret)
  }
})

test('A wallet that could not be checked is not a failure of the caller: after twenty 503 the challenge still works', async () => {
  home.setFaults('429')
  const walk = from('203.0.113.9')
  const attempt = await home.prove(wallet, { walk })
  for (let i = 0; i < 20; i += 1) expect((await home.proveAgain(attempt, wallet)).status).toBe(503)
  home.setFaults(null)
  expect((await home.proveAgain(attempt, wallet)).status).toBe(200)
})

test('The login page responds in the same way: 503 with Retry-After, and the form can be sent again', async () => {
  home.setFaults('429')
  const walk = from('203.0.113.10')
  const challenge = await walk.challenge(requestOf(home.client))
  const { signature } = await walk.proof(challenge, wallet)
  const post = () =>
    fetch(`${home.grantor.loginUrl}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', origin: home.grantor.loginUrl },
      body: JSON.stringify({ login_challenge: challenge, address: wallet.address, chain_id: 1, signature }),
    })
  const refused = await post()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
  home.setFaults(null)
  const accepted = await post()
  expect(accepted.status).toBe(200)
  expect(await accepted.json()).toMatchObject({ status: 'success' })
})

test('Ordinary wallets sign in meanwhile as if there were no chain', async () => {
  home.setFaults('hang')
  const walk = from('203.0.113.11', testWallet(0))
  expect((await walk.signIn(requestOf(home.client))).code).not.toBe('')
  const address = testWallet(0).address as Address
  expect(await home.grantor.store.wallets.readWallet(address)).toMatchObject({ provedItself: true })
})

/** A browser with its own IP address, so that its failures are counted separately. */
function from(clientIp: string, of: TestWallet = wallet): Walk {
  const walk = new Walk(home.grantor, of)
  walk.clientIp = clientIp
  return walk
}
