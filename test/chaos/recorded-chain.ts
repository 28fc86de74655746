/**
 * A chain of a run's own, with contract wallets that change hands and RPCs that break. What happens to them is written
 * into the history beside what clients were told, because a refresh of such a wallet depends on it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startChain } from '../support/chain.ts'
import type { RpcFault } from '../support/chain-rpc.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeableWallet, changeOwner, owner } from '../support/wallet-contracts.ts'
import { type Asked, CHAIN, type Entry, now } from './history.ts'

export type Wallet = TestWallet & { kind: 'ordinary' | 'contract' }

export type RecordedChain = {
  /** where the service finds it */
  env: Record<string, string>
  /** A contract that was never used, and its owner's signature. */
  deploy(): Promise<Wallet>
  /** Gives the contract to an owner of its own; resolves once the chain has it, to the wallet as its new owner signs. */
  handOver(wallet: Wallet): Promise<Wallet>
  /** One of its two RPCs, or both, break in one way for a while. */
  breakFor(ms: number, which: 'one' | 'other' | 'both', fault: RpcFault): Promise<void>
  /** how often the service asked it for a wallet's word, counting each RPC */
  checks(): number
  close(): Promise<void>
}

/** `name` tells the keys of this run from those of another. */
export async function startRecordedChain(history: Entry[], name: string): Promise<RecordedChain> {
  const chain = await startChain({ chainId: 1 })
  const beside = await chain.openRpc()
  const rpcs = { one: [chain], other: [beside], both: [chain, beside] }
  let owners = 0
  const nextOwner = () => owner(`owner ${++owners} of a contract of ${name}`)

  async function note(asked: Asked, happens: () => Promise<unknown>): Promise<void> {
    const begin = now()
    await happens()
    history.push({ node: CHAIN, caller: '', asked, told: { kind: 'done' }, begin, end: now(), offset: [0, 0] })
  }

  return {
    env: { GRANTOR_CHAINS: JSON.stringify({ 1: { name: 'Home', rpc: [chain.url, beside.url], home: true } }) },
    async deploy() {
      const { address, sign } = nextOwner()
      return { kind: 'contract', address: await chain.deploy(changeableWallet(address)), sign }
    },
    async handOver({ address }) {
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
