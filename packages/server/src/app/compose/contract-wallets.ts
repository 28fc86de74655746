/** Checks of contract wallets, on the home chain of the settings; null if no home chain is configured. */

import type { Chain } from '../../config/chains.ts'
import type { ContractWallets } from '../../domain/model/deps.ts'
import { createChainReader } from '../../outbound/chain/chain-reader.ts'
import { type ChainFault, checkChains } from '../../outbound/chain/check-chains.ts'
import type { CallWith } from '../../outbound/chain/json-rpc.ts'
import { type ChainReader, type ContractVerdict, verifyContractSignature } from '../../protocol/wallet/contract-signature.ts'
import { checkOwnKey } from '../../protocol/wallet/own-key.ts'

/** Concurrent checks of one network: a quarter of the calls that an RPC accepts at once. */
const UNDER_WAY_AT_MOST = 8

export type ConnectedChains = {
  contractWallets: ContractWallets | null
  /** checks the endpoints now and returns their faults */
  check(): Promise<ChainFault[]>
}

type Connecting = {
  callWith?: CallWith | undefined
  /** whether the chain is called before the signature of a key is trusted */
  keyCheck?: boolean | undefined
}

export function connectChains(chains: readonly Chain[], { callWith, keyCheck = false }: Connecting = {}): ConnectedChains {
  const connected = chains.map(({ chainId, rpc, home }) => {
    return { chainId, home, readers: rpc.map((url) => createChainReader({ url, callWith })) }
  })
  const home = connected.find((chain) => chain.home)
  return { contractWallets: home ? walletsOfContract(home, keyCheck) : null, check: () => checkChains(connected) }
}

function walletsOfContract(
  { chainId, readers }: { chainId: number; readers: ChainReader[] },
  keyCheck: boolean,
): ContractWallets {
  const limited = limitNetworks()
  return {
    homeChainId: chainId,
    check: sharingResults((claim) => limited(claim.network, () => verifyContractSignature(readers, claim))),
    checkOwnKey: keyCheck ? ({ address, network }) => limited(network, () => checkOwnKey(readers, { address, chainId })) : null,
  }
}

/** Concurrent checks of the same claim share one result: fifty refreshes of one token at once are one check, not fifty. */
function sharingResults(check: ContractWallets['check']): ContractWallets['check'] {
  const underWay = new Map<string, ReturnType<ContractWallets['check']>>()
  return (claim) => {
    const key = JSON.stringify([claim.chainId, claim.address, claim.signature, claim.message])
    const result = underWay.get(key) ?? check(claim).finally(() => underWay.delete(key))
    underWay.set(key, result)
    return result
  }
}

/**
 * Limits the concurrent checks of one network. An RPC accepts 32 calls at once, and a caller can make a signature whose
 * check uses the whole timeout: without this limit one network could occupy all 32 calls, and no other wallet could be
 * checked.
 */
function limitNetworks() {
  const underWay = new Map<string, number>()
  return async (network: string | null, check: () => Promise<ContractVerdict>): Promise<ContractVerdict> => {
    if (network === null) return check()
    const others = underWay.get(network) ?? 0
    if (others >= UNDER_WAY_AT_MOST) return { kind: 'could_not_check', why: 'network_has_too_many_under_way' }
    underWay.set(network, others + 1)
    try {
      return await check()
    } finally {
      const left = (underWay.get(network) ?? 1) - 1
      if (left > 0) underWay.set(network, left)
      else underWay.delete(network)
    }
  }
}
