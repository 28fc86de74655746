/** A look at every configured endpoint before the service opens: is it there, is it of that chain, can it check a wallet? */

import { verifyContractSignature } from '../wallet/contract-signature.ts'
import type { ConnectedReader } from './chain-reader.ts'

/**
 * What is wrong with an endpoint, in words for the operator.
 *
 * - `wrong`: it is of another chain, or says yes to a check that must say no. The settings are wrong: do not start.
 * - `unavailable`: it did not answer. It may in a minute, and ordinary wallets need no chain: start, and warn.
 */
export type ChainFault = { kind: 'wrong' | 'unavailable'; chainId: number; host: string; words: string }

/** Asks all endpoints at once, two questions each. An empty list: all is well. */
export async function checkChains(
  chains: readonly { chainId: number; readers: readonly ConnectedReader[] }[],
): Promise<ChainFault[]> {
  const looks = chains.flatMap(({ chainId, readers }) => readers.map((reader) => checkReader(chainId, reader)))
  return (await Promise.all(looks)).filter((fault) => fault !== null)
}

async function checkReader(chainId: number, reader: ConnectedReader): Promise<ChainFault | null> {
  const fault = (kind: ChainFault['kind'], words: string): ChainFault => {
    return { kind, chainId, host: reader.host, words: `the RPC of chain ${chainId} at ${reader.host} ${words}` }
  }
  const answer = await reader.chainId()
  if (answer.kind === 'unavailable') return fault('unavailable', `does not answer eth_chainId (${answer.why})`)
  if (answer.chainId !== chainId) return fault('wrong', `is of chain ${answer.chainId}`)

  // Some endpoints run no eth_call without a recipient: better said now than at somebody's login.
  const check = await verifyContractSignature([reader], { message: '', signature: '0x', address: nobody, chainId })
  if (check.kind === 'not_proven') return null
  if (check.kind === 'could_not_check')
    return fault('unavailable', `does not run a wallet check, an eth_call without "to" (${check.why})`)
  return fault('wrong', 'accepts a signature of nobody')
}

/** The best known address that nobody has a key for and no code is at: a check of it must say no. */
const nobody = '0x000000000000000000000000000000000000dEaD'
