/**
 * Checks every configured endpoint before the service starts: it must respond, report the configured chain id, and be able
 * to check a wallet.
 */

import { verifyContractSignature } from '../../protocol/wallet/contract-signature.ts'
import type { ConnectedReader } from './chain-reader.ts'

/**
 * A fault of an endpoint, in words for the operator.
 *
 * - `wrong`: the endpoint is of another chain, or accepts a signature that must be refused. The settings are wrong: do
 *   not start.
 * - `unavailable`: the endpoint did not respond. It may recover, and ordinary wallets need no chain: start, and log a
 *   warning.
 */
export type ChainFault = { kind: 'wrong' | 'unavailable'; chainId: number; host: string; words: string }

/** Checks all endpoints at once, with two calls each. An empty list means no faults. */
export async function checkChains(
  chains: readonly { chainId: number; readers: readonly ConnectedReader[] }[],
): Promise<ChainFault[]> {
  const checks = chains.flatMap(({ chainId, readers }) => readers.map((reader) => checkReader(chainId, reader)))
  return (await Promise.all(checks)).filter((fault) => fault !== null)
}

async function checkReader(chainId: number, reader: ConnectedReader): Promise<ChainFault | null> {
  const fault = (kind: ChainFault['kind'], words: string): ChainFault => {
    return { kind, chainId, host: reader.host, words: `the RPC of chain ${chainId} at ${reader.host} ${words}` }
  }
  const answer = await reader.chainId()
  if (answer.kind === 'unavailable') return fault('unavailable', `does not respond to eth_chainId (${answer.why})`)
  if (answer.chainId !== chainId) return fault('wrong', `is of chain ${answer.chainId}`)

  // Some endpoints refuse an eth_call without a recipient. Report that at startup, not at a user's login.
  const check = await verifyContractSignature([reader], { message: '', signature: '0x', address: keylessAddress, chainId })
  if (check.kind === 'not_proven') return null
  if (check.kind === 'could_not_check')
    return fault('unavailable', `does not run a wallet check, an eth_call without "to" (${check.why})`)
  return fault('wrong', 'accepts a signature without a signer')
}

/** The best known address that has neither a key nor code: a check of it must be refused. */
const keylessAddress = '0x000000000000000000000000000000000000dEaD'
