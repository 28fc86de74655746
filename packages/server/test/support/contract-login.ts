/** The service with its own home chain, and complete or partial logins of contract wallets. */
import { expect } from 'vitest'
import type { Chain } from '../../src/config/chains.ts'
import type { Grant } from '../../src/domain/model/records.ts'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { claimsOf, type Tokens, tokensOf } from './app.ts'
import { startChain, type TestChain } from './chain.ts'
import type { TestRpc } from './chain-rpc.ts'
import { type Grantor, type StartOptions, startGrantor, type TestClient } from './start.ts'
import { type Answer, movingTo, parameterOf, redirectPath, requestOf, Walk } from './walk.ts'
import type { TestWallet } from './wallet.ts'
import {
  changeableWallet,
  create2Address,
  create2Call,
  create2Factory,
  deploying,
  type Owner,
  ownedWallet,
  wrapSignature,
} from './wallet-contracts.ts'

/** A login up to its proof. */
export type Attempt = { walk: Walk; challenge: string; answer: Answer }

/** A complete login, with the app's tokens. */
export type Connected = { walk: Walk; tokens: Tokens; grantId: string }

export type HomeChain = {
  grantor: Grantor
  client: TestClient
  /** The first of the two RPCs that must agree. */
  chain: TestChain
  /** The second of the two RPCs. */
  beside: TestRpc
  /** A deployed contract wallet of this owner, to sign in with. */
  walletOf(owner: Owner): Promise<TestWallet>
  /** Deploys a contract wallet whose owner `changeOwner` can change. */
  changeableWalletOf(owner: Owner): Promise<TestWallet>
  /** A contract wallet that is not deployed (ERC-6492). `signer` signs for the wallet, by default its owner. */
  undeployedWalletOf(owner: Owner, signer?: Owner): Promise<TestWallet>
  /** Begins a login and sends the wallet's proof, in the given browser or a new one. */
  prove(wallet: TestWallet, more?: { walk?: Walk; client?: TestClient; proof?: Record<string, unknown> }): Promise<Attempt>
  /** Sends another proof for the same challenge. */
  proveAgain(attempt: Attempt, wallet: TestWallet): Promise<Answer>
  /** Completes the login in the browser, and returns the code for the app. Throws if the proof was refused. */
  finish(attempt: Attempt): Promise<string>
  /** Performs a whole login. Throws if a step is refused. */
  connect(wallet: TestWallet, more?: { walk?: Walk; client?: TestClient }): Promise<Connected>
  /** Reads a grant from the store. */
  grantOf(connected: Connected): Promise<Grant | null>
  isActive(connected: Connected, tokens?: Tokens): Promise<boolean>
  /** The methods of all requests to both RPCs during `run`. */
  questions(run: () => Promise<unknown>): Promise<string[]>
  /** Expects a refusal with this status and error, and an unchanged database. */
  expectRefused(run: () => Promise<Answer>, status: number, error: string): Promise<Answer>
  setFaults(fault: Parameters<TestRpc['setFault']>[0]): void
  close(): Promise<void>
}

/** `moreChains` are further chains with RPCs, besides the home chain. `p256` adds the precompile for passkeys to the home chain. */
export async function startOnChain(
  options: StartOptions & { moreChains?: TestChain[]; p256?: boolean } = {},
): Promise<HomeChain> {
  const { moreChains = [], p256, ...rest } = options
  const chain = await startChain({ chainId: 1, p256 })
  const beside = await chain.openRpc()
  const others: Chain[] = moreChains.map(({ chainId, url }) => ({ chainId, name: `Chain ${chainId}`, rpc: [url], home: false }))
  const home = { chainId: 1, name: 'Home', rpc: [chain.url, beside.url], home: true }
  const grantor = await startGrantor({ chains: [home, ...others], ...rest })
  const client = await grantor.createClient({ scopes: ['enhancement', 'profile'] })
  let factory: Address | undefined

  const self: HomeChain = {
    grantor,
    client,
    chain,
    beside,
    async walletOf(owner) {
      return { address: await chain.deploy(deploying(ownedWallet(owner.address))), sign: owner.sign }
    },
    async changeableWalletOf(owner) {
      return { address: await chain.deploy(changeableWallet(owner.address)), sign: owner.sign }
    },
    async undeployedWalletOf(owner, signer = owner) {
      factory ??= await chain.deploy(deploying(create2Factory))
      const at = factory
      const initCode = deploying(ownedWallet(owner.address))
      const wrap = (signature: string) => wrapSignature(at, create2Call(initCode), signature)
      return { address: create2Address(at, initCode), sign: (message) => wrap(signer.sign(message)) }
    },
    async prove(wallet, { walk = new Walk(grantor), client: asking = client, proof = {} } = {}) {
      const challenge = await walk.challenge(requestOf(asking))
      const made = { ...(await walk.proof(challenge, wallet)), ...proof }
      return { walk, challenge, answer: await walk.loginApi('/login/accept', made) }
    },
    async proveAgain({ walk, challenge }, wallet) {
      return walk.loginApi('/login/accept', await walk.proof(challenge, wallet))
    },
    async finish({ walk, answer }) {
      return parameterOf(movingTo(await walk.complete(redirectPath(answer))), 'code')
    },
    async connect(wallet, { walk = new Walk(grantor), client: asking = client } = {}) {
      const code = await self.finish(await self.prove(wallet, { walk, client: asking }))
      const exchanged = await walk.exchange(asking, code)
      if (exchanged.status !== 200) throw new Error(`the exchange was answered ${exchanged.status}: ${exchanged.body}`)
      const tokens = tokensOf(exchanged)
      return { walk, tokens, grantId: claimsOf(tokens.access_token).grant_id }
    },
    grantOf: ({ grantId }) => grantor.store.grants.readGrant(grantId),
    async isActive({ walk, tokens }, { access_token } = tokens) {
      return (await walk.introspect(client, access_token)).json().active === true
    },
    async questions(run) {
      const before = [chain.asked.length, beside.asked.length] as const
      await run()
      return [...chain.asked.slice(before[0]), ...beside.asked.slice(before[1])]
    },
    async expectRefused(run, status, error) {
      const before = await grantor.rows()
      const answer = await run()
      expect([answer.status, answer.json().error]).toEqual([status, error])
      expect(answer.json()).not.toHaveProperty('redirect_to')
      expect(await grantor.rows()).toEqual(before)
      return answer
    },
    setFaults(fault) {
      chain.setFault(fault)
      beside.setFault(fault)
    },
    async close() {
      await grantor.close()
      await chain.close()
    },
  }
  return self
}
