/** Contract wallets, on the home chain of the settings; null where none is configured. */
import { createChainReader } from '../chain/chain-reader.ts'
import { type ChainFault, checkChains } from '../chain/check-chains.ts'
import type { Chain } from '../config/chains.ts'
import type { ContractWallets } from '../grants/deps.ts'
import { verifyContractSignature } from '../wallet/contract-signature.ts'

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
    check: sharingAnswers((claim) => verifyContractSignature(home.readers, claim)),
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
