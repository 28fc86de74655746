/** Contract wallets, on the home chain of the settings; null where none is configured. */
import { createChainReader } from '../chain/chain-reader.ts'
import { type ChainFault, checkChains } from '../chain/check-chains.ts'
import type { Chain } from '../config/chains.ts'
import type { ContractWallets } from '../grants/deps.ts'
import { verifyContractSignature } from '../wallet/contract-signature.ts'

/** Checks of one network at once: a quarter of the calls that an RPC takes at once. */
const UNDER_WAY_AT_MOST = 8

export type ConnectedChains = {
  contractWallets: ContractWallets | null
  /** what is wrong with the endpoints, asked now */
  check(): Promise<ChainFault[]>
}

export function connectChains(chains: readonly Chain[]): ConnectedChains {
  const connected = chains.map(({ chainId, rpc, home }) => {
    return { chainId, home, readers: rpc.map((url) => createChainReader({ url })) }
  })
  const home = connected.find((chain) => chain.home)
  const contractWallets = home && {
    homeChainId: home.chainId,
    check: sharingAnswers(limitingNetworks((claim) => verifyContractSignature(home.readers, claim))),
  }
  return { contractWallets: contractWallets ?? null, check: () => checkChains(connected) }
}

/** What is being asked already is not asked again: fifty refreshes of one token at once are one check, not fifty. */
function sharingAnswers(check: ContractWallets['check']): ContractWallets['check'] {
  const underWay = new Map<string, ReturnType<ContractWallets['check']>>()
  return (claim) => {
    const question = JSON.stringify([claim.chainId, claim.address, claim.signature, claim.message])
    const asked = underWay.get(question) ?? check(claim).finally(() => underWay.delete(question))
    underWay.set(question, asked)
    return asked
  }
}

/**
 * Limits the checks of one network that are under way. An RPC takes 32 calls at once, and a signature can be made to take its whole time:
 * without this limit one network could hold all 32, and the wallets of all others could not be checked.
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
