/** Checks of contract wallets, on the home chain of the settings; null if no home chain is configured. */
import { createChainReader } from '../../chain/chain-reader.ts'
import { type ChainFault, checkChains } from '../../chain/check-chains.ts'
import type { CallWith } from '../../chain/json-rpc.ts'
import type { Chain } from '../../config/chains.ts'
import type { ContractWallets } from '../../domain/model/deps.ts'
import { verifyContractSignature } from '../../wallet/contract-signature.ts'

/** Concurrent checks of one network: a quarter of the calls that an RPC accepts at once. */
const UNDER_WAY_AT_MOST = 8

export type ConnectedChains = {
  contractWallets: ContractWallets | null
  /** checks the endpoints now and returns their faults */
  check(): Promise<ChainFault[]>
}

export function connectChains(chains: readonly Chain[], callWith?: CallWith): ConnectedChains {
  const connected = chains.map(({ chainId, rpc, home }) => {
    return { chainId, home, readers: rpc.map((url) => createChainReader({ url, callWith })) }
  })
  const home = connected.find((chain) => chain.home)
  const contractWallets = home && {
    homeChainId: home.chainId,
    check: sharingResults(limitingNetworks((claim) => verifyContractSignature(home.readers, claim))),
  }
  return { contractWallets: contractWallets ?? null, check: () => checkChains(connected) }
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
function limitingNetworks(check: ContractWallets['check']): ContractWallets['check'] {
  const underWay = new Map<string, number>()
  return async (claim) => {
    const { network } = claim
    if (network === null) return check(claim)
    const others = underWay.get(network) ?? 0
    if (others >= UNDER_WAY_AT_MOST) return { kind: 'could_not_check', why: 'network_has_too_many_under_way' }
    underWay.set(network, others + 1)
    try {
      return await check(claim)
    } finally {
      const left = (underWay.get(network) ?? 1) - 1
      if (left > 0) underWay.set(network, left)
      else underWay.delete(network)
    }
  }
}
