/**
 * A chain for one run, with contract wallets that are transferred and RPCs that fail. Transfers and failures are recorded in the
 * history, because the refreshes of contract wallets depend on them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startChain } from '../support/chain.ts'
import type { RpcFault } from '../support/chain-rpc.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeableWallet, changeOwner, owner } from '../support/wallet-contracts.ts'
import { CHAIN, type Entry, now, type RecordedRequest } from './history.ts'

export type Wallet = TestWallet & { kind: 'ordinary' | 'contract' }

export type RecordedChain = {
  /** the settings of the service for this chain */
  env: Record<string, string>
  /** Deploys a new contract wallet with an owner of its own. */
  deploy(): Promise<Wallet>
  /** Transfers the contract to a new owner. Resolves when the chain has the transfer, with the wallet that the new owner signs for. */
  transfer(wallet: Wallet): Promise<Wallet>
  /** Sets a fault at one of the two RPCs, or at both, for this time. */
  breakFor(ms: number, which: 'one' | 'other' | 'both', fault: RpcFault): Promise<void>
  /** the number of requests to both RPCs to check a signature */
  checks(): number
  close(): Promise<void>
}

/** `name` distinguishes the keys of this run from those of other runs. */
export async function startRecordedChain(history: Entry[], name: string): Promise<RecordedChain> {
  const chain = await startChain({ chainId: 1 })
  const beside = await chain.openRpc()
  const rpcs = { one: [chain], other: [beside], both: [chain, beside] }
  let owners = 0
  const nextOwner = () => owner(`owner ${++owners} of a contract of ${name}`)

  async function note(request: RecordedRequest, happens: () => Promise<unknown>): Promise<void> {
    const begin = now()
    await happens()
    history.push({ node: CHAIN, caller: '', request, response: { kind: 'done' }, begin, end: now(), offset: [0, 0] })
  }

  return {
    env: { GRANTOR_CHAINS: JSON.stringify({ 1: { name: 'Home', rpc: [chain.url, beside.url], home: true } }) },
    async deploy() {
      const { address, sign } = nextOwner()
      return { kind: 'contract', address: await chain.deploy(changeableWallet(address)), sign }
    },
    async transfer({ address }) {
      const next = nextOwner()
      await note({ op: 'change_owner', wallet: address }, () => chain.send(address, changeOwner(next.address)))
      return { kind: 'contract', address, sign: next.sign }
    },
    breakFor: (ms, which, fault) =>
      note({ op: 'chain_broken' }, async () => {
        for (const rpc of rpcs[which]) rpc.setFault(fault)
        await pause(ms)
        for (const rpc of rpcs[which]) rpc.setFault(null)
      }),
    checks: () => [chain, beside].flatMap(({ asked }) => asked).filter((method) => method === 'eth_call').length,
    close: () => chain.close(),
  }
}
