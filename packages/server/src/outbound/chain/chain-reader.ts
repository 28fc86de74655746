/** Reads a chain through one RPC endpoint: the implementation of the port `ChainReader`. */

import type { ChainAnswer, ChainReader } from '../../protocol/wallet/contract-signature.ts'
import { createRpc, type RpcOptions } from './json-rpc.ts'

export type ConnectedReader = ChainReader & {
  /** The endpoint's host, for messages. */
  host: string
  /** The chain id that the endpoint reports (`eth_chainId`, EIP-695). */
  chainId(): Promise<{ kind: 'chain'; chainId: number } | { kind: 'unavailable'; why: string }>
}

/**
 * @throws TypeError if `url` is not a URL; the settings were checked before.
 */
export function createChainReader(options: RpcOptions): ConnectedReader {
  const { host, ask } = createRpc(options)

  /**
   * Without `to`, `eth_call` runs `data` as init code. The member is `data`, not `input`, because every client supports
   * the older name.
   */
  async function call({ data, gas }: { data: string; gas: number }): Promise<ChainAnswer> {
    const answer = await ask('eth_call', [{ data, gas: `0x${gas.toString(16)}` }, 'latest'])
    if (answer.kind === 'unavailable') return answer
    return isBytes(answer.result) ? { kind: 'returned', data: answer.result.toLowerCase() } : malformed()
  }

  async function chainId(): ReturnType<ConnectedReader['chainId']> {
    const answer = await ask('eth_chainId', [])
    if (answer.kind === 'unavailable') return answer
    return isChainId(answer.result) ? { kind: 'chain', chainId: Number(answer.result) } : malformed()
  }

  function malformed(): { kind: 'unavailable'; why: string } {
    return { kind: 'unavailable', why: `${host}: malformed` }
  }

  return { host, call, chainId }
}

function isBytes(result: unknown): result is string {
  return typeof result === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(result)
}

/** A quantity without leading zeros, within what a JavaScript number can represent. */
function isChainId(result: unknown): result is string {
  return typeof result === 'string' && /^0x[1-9a-f][0-9a-f]{0,12}$/i.test(result)
}
