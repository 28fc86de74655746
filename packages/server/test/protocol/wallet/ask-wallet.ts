/** Checks a signature as the service does, through real RPC servers of a local chain. */
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { type ContractVerdict, verifyContractSignature } from '../../../src/protocol/wallet/contract-signature.ts'

export const message = 'login.example.com wants you to sign in with your Ethereum account:\n…'

export type Endpoint = { url: string }

/** A check with a long timeout: the local EVM records every step, so burning all gas takes a second instead of milliseconds. */
export function verifierAt(chainId: number, ...endpoints: readonly Endpoint[]) {
  const readers = endpoints.map(({ url }) => createChainReader({ url, timeoutMs: 90_000 }))
  return (address: string, signature: string, text = message): Promise<ContractVerdict> =>
    verifyContractSignature(readers, { message: text, signature, address: address as Address, chainId })
}
