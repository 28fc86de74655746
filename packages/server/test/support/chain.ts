/**
 * A chain for one test: Hardhat's EVM in the test's process, served as JSON-RPC on loopback, with selectable faults. It needs no
 * internet and starts in a few milliseconds.
 */

import { hexToBytes } from '@noble/hashes/utils.js'
import {
  ContractDecoder,
  EdrContext,
  L1_CHAIN_TYPE,
  l1GenesisState,
  l1HardforkFromString,
  l1ProviderFactory,
  OSAKA,
  PRAGUE,
} from '@nomicfoundation/edr'
import { type Address, parseAddress } from '../../src/protocol/wallet/address.ts'
import { openRpc, type TestRpc } from './chain-rpc.ts'

/** The first account of every local Ethereum chain; it pays for what tests deploy. */
const FUNDED = 'f39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const FUNDED_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const BLOCK_GAS = 60_000_000n
/** Below the limit of a transaction (EIP-7825). */
const TRANSACTION_GAS = 16_000_000n

export type TestChain = TestRpc & {
  chainId: number
  /** Sends a request to the chain directly, without the RPC server. Throws if the chain refuses. */
  request(method: string, params?: unknown[]): Promise<any>
  /** Runs init code in a transaction, and returns the address of the deployed contract. */
  deploy(initCode: string): Promise<Address>
  /** Calls a contract in a transaction. */
  send(to: string, input: string): Promise<void>
  /** Calls a contract in a transaction that a contract sends, as a wallet that does what its owner asks for. */
  sendAs(from: string, to: string, input: string): Promise<void>
  /** Sets the code at an address, for contracts that no transaction could create there, and for delegations (EIP-7702). */
  setCode(address: string, code: string): Promise<void>
  /** Opens a second RPC of the same chain, with separate faults. */
  openRpc(): Promise<TestRpc>
  /** Closes this RPC and all that `openRpc` has opened. */
  close(): Promise<void>
}

/** `p256` adds the precompile that checks signatures of passkeys (EIP-7951). */
export async function startChain({
  chainId = 31_337,
  p256,
}: {
  chainId?: number
  p256?: boolean | undefined
} = {}): Promise<TestChain> {
  const hardfork = p256 ? OSAKA : PRAGUE
  const answer = await createEvm(chainId, hardfork)
  const another = (): Promise<TestRpc> => openRpc(answer, () => createEvm(chainId + 1, hardfork))
  const rpc = await another()
  const opened = [rpc]

  async function request(method: string, params: unknown[] = []): Promise<any> {
    const { result, error } = JSON.parse(await answer(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })))
    if (error) throw new Error(`${method}: ${error.message}`)
    return result
  }

  async function transact(transaction: {
    from?: string
    to?: string
    data: string
    gasPrice?: string
  }): Promise<{ contractAddress: string | null }> {
    const hash = await request('eth_sendTransaction', [
      { from: `0x${FUNDED}`, gas: `0x${TRANSACTION_GAS.toString(16)}`, ...transaction },
    ])
    return request('eth_getTransactionReceipt', [hash])
  }

  return {
    ...rpc,
    chainId,
    request,
    async deploy(initCode) {
      const { contractAddress } = await transact({ data: initCode })
      const parsed = parseAddress(contractAddress ?? '')
      if (parsed.kind !== 'address') throw new Error('nothing was deployed')
      return parsed.address
    },
    async send(to, input) {
      await transact({ to, data: input })
    },
    async sendAs(from, to, input) {
      await request('hardhat_impersonateAccount', [from])
      await transact({ from, to, data: input, gasPrice: '0x0' })
    },
    async setCode(address, code) {
      await request('hardhat_setCode', [address, code])
    },
    async openRpc() {
      const beside = await another()
      opened.push(beside)
      return beside
    },
    async close() {
      await Promise.all(opened.map((each) => each.close()))
    },
  }
}

let shared: Promise<EdrContext> | undefined

/** One per process, as the library recommends. */
function sharedContext(): Promise<EdrContext> {
  shared ??= (async () => {
    const context = new EdrContext()
    await context.registerProviderFactory(L1_CHAIN_TYPE, l1ProviderFactory())
    return context
  })()
  return shared
}

/** Creates an EVM with one funded account. Returns a function that handles JSON-RPC requests. */
async function createEvm(chainId: number, hardfork: string): Promise<(question: string) => Promise<string>> {
  const context = await sharedContext()
  const provider = await context.createProvider(
    L1_CHAIN_TYPE,
    {
      chainId: BigInt(chainId),
      networkId: BigInt(chainId),
      hardfork,
      genesisState: [
        ...l1GenesisState(l1HardforkFromString(hardfork)),
        { address: hexToBytes(FUNDED.toLowerCase()), balance: 10n ** 24n },
      ],
      ownedAccounts: [FUNDED_KEY],
      network: { genesisBlockGasLimit: BLOCK_GAS },
      mining: { autoMine: true, blockGasLimit: BLOCK_GAS, memPool: { order: 'Priority' as any } },
      defaultTransactionGasLimit: TRANSACTION_GAS,
      coinbase: new Uint8Array(20).fill(0xcb),
      initialBaseFeePerGas: 0n,
      minGasPrice: 0n,
      allowBlocksWithSameTimestamp: true,
      allowUnlimitedContractSize: false,
      bailOnCallFailure: true,
      bailOnTransactionFailure: true,
      observability: {},
      precompileOverrides: [],
    },
    { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => {} },
    { subscriptionCallback: () => {} },
    new ContractDecoder(),
  )
  return async (question) => {
    const { data } = await provider.handleRequest(question)
    const answer = typeof data === 'string' ? JSON.parse(data) : data
    return JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(question).id, ...answer })
  }
}
