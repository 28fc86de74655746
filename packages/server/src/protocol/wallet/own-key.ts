/**
 * Whether the key of an account still counts, or the account has switched its key off.
 *
 * No chain lets an account do this today: the drafts are EIP-7851 and EIP-8164. `signature.ts` proves that the key of
 * an address signed, and cannot show whether the account still accepts this key.
 */
import type { Address } from './address.ts'
import { composeKeyCheck } from './check-code.ts'
import { askAll, type ChainReader, type ContractVerdict } from './contract-signature.ts'

/**
 * Calls every reader, one `eth_call` each, all at once.
 *
 * - `valid`: all readers report that the key counts.
 * - `not_proven`: all readers report that it does not.
 * - `could_not_check`: a reader did not respond, is of another chain, or contradicts another reader.
 */
export function checkOwnKey(
  readers: readonly ChainReader[],
  { address, chainId }: { address: Address; chainId: number },
): Promise<ContractVerdict> {
  return askAll(readers, composeKeyCheck({ chainId, account: address }))
}
