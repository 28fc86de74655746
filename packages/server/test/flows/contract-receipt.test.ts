/** The receipt of a contract wallet: sign-in, download from the account page, and verification with an RPC. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { newFolder, type Ran, run } from '../app/run.ts'
import { type Connected, type HomeChain, startOnChain } from '../support/contract-login.ts'
import { safes, signForSafe } from '../support/safe.ts'
import type { Answer } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeOwner, owner } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const bob = owner('bob')
const folder = newFolder()

let home: HomeChain
beforeAll(async () => {
  home = await startOnChain()
})
beforeEach(() => home.setFaults(null))
afterAll(() => home.close())

/** Downloads the wallet's one receipt, in the browser that signed in. */
async function download({ walk }: Connected, { address }: TestWallet): Promise<Answer> {
  const [receipt] = await home.grantor.store.receipts.listReceipts(address as Address, { limit: 1 })
  return walk.browse({ path: `/account/receipts/${receipt?.id}.json` })
}

async function verify(content: string, ...rpcs: string[]): Promise<Ran> {
  const file = join(folder, 'receipt.json')
  writeFileSync(file, content)
  const named = rpcs.flatMap((url) => ['--rpc', url])
  return run(['verify-receipt', file, '--json', ...named], {}, home.grantor.clock.now())
}

async function safeWallet(): Promise<TestWallet> {
  const makeSafe = await safes(home.chain)
  const { address, deploy } = await makeSafe([alice, bob], 2)
  await deploy()
  return { address, sign: (message) => signForSafe(message, address, 1, [alice, bob]) }
}

test.each([
  ['deployed', () => home.walletOf(alice)],
  ['not deployed yet (ERC-6492)', () => home.undeployedWalletOf(alice)],
  ['a Safe of two owners', safeWallet],
])(
  'The receipt of a contract wallet is downloaded as it was signed, and grantor verify-receipt --rpc accepts it: %s',
  async (_, make) => {
    const wallet = await make()
    const answer = await download(await home.connect(wallet), wallet)
    expect(answer.status).toBe(200)
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="grantor-receipt-[0-9a-f-]{36}\.json"$/)
    const receipt = answer.json()
    expect(Object.keys(receipt)).toEqual(['message', 'signature', 'address', 'chain_id'])
    expect(receipt).toMatchObject({ address: wallet.address, chain_id: 1, signature: wallet.sign(receipt.message as string) })

    const { exit, out } = await verify(answer.body, home.chain.url, home.beside.url)
    expect([exit, JSON.parse(out)]).toMatchObject([
      0,
      {
        verdict: 'holds',
        wallet: 'contract',
        expired: false,
        consent: { address: wallet.address, client_id: home.client.id, chain_id: 1 },
      },
    ])
  },
)

test('No verdict is given if no RPC is named, or if one of two RPCs does not respond or gives another answer', async () => {
  const wallet = await home.undeployedWalletOf(bob)
  const { body } = await download(await home.connect(wallet), wallet)
  const verdictOf = async (...rpcs: string[]) => {
    const { exit, out } = await verify(body, ...rpcs)
    return [exit, JSON.parse(out).verdict as string]
  }
  expect(await verdictOf()).toEqual([1, 'could_not_check'])
  for (const fault of ['429', 'deny', 'other_chain'] as const) {
    home.beside.setFault(fault)
    expect([fault, ...(await verdictOf(home.chain.url, home.beside.url))]).toEqual([fault, 1, 'could_not_check'])
  }
})

test('A receipt with a changed text or another signature is not accepted, whatever the chain returns', async () => {
  const wallet = await home.walletOf(alice)
  const receipt = (await download(await home.connect(wallet), wallet)).json()
  const message = (receipt.message as string).replace('MyApp', 'Another')
  for (const change of [{ message }, { signature: bob.sign(receipt.message as string) }, { chain_id: 8453 }]) {
    const { exit, out } = await verify(JSON.stringify({ ...receipt, ...change }), home.chain.url)
    expect([exit, JSON.parse(out).verdict]).toEqual([1, 'does_not_hold'])
  }
})

test('A receipt is no longer accepted after its owner was removed: each check calls the contract of the wallet', async () => {
  const wallet = await home.changeableWalletOf(alice)
  const { body } = await download(await home.connect(wallet), wallet)
  expect((await verify(body, home.chain.url)).exit).toBe(0)
  await home.chain.send(wallet.address, changeOwner(bob.address))
  const { exit, out } = await verify(body, home.chain.url)
  expect([exit, JSON.parse(out)]).toEqual([1, { verdict: 'does_not_hold', reason: 'not_signed' }])
})

test('The receipt of a contract wallet is shown to no other wallet: 404', async () => {
  const wallet = await home.walletOf(alice)
  await home.connect(wallet)
  const stranger = await home.connect(await home.walletOf(bob))
  expect((await download(stranger, wallet)).status).toBe(404)
})
