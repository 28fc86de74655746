/**
 * Proof that a contract wallet accepts a signature over a text (ERC-1271, which ERC-4361 recommends), whether or not the
 * wallet is deployed (ERC-6492).
 *
 * Only the chain can check what a contract accepts, so this module calls the chain through a port. This check runs last:
 * `signature.ts` proves wallets with a key without any chain.
 */

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, parseAddress } from './address.ts'
import { answers, checkGas, composeCheck, magicValue } from './check-code.ts'
import type { SignatureVerdict } from './signature.ts'
import { encodeBytes, unwrapSignature, writeWord } from './wrapped-signature.ts'

/** One RPC endpoint of a chain. A reader never throws: every failure is `unavailable`. */
export type ChainReader = {
  /**
   * Runs init code (`data`: `0x` and digits) with `eth_call` on the latest block and returns the result as `0x` and
   * digits. A failed execution is `unavailable`: the check code catches every failure of other contracts.
   */
  call(request: { data: string; gas: number }): Promise<ChainAnswer>
}

/**
 * `why` is for the operator's log. Users never see this text, which contains nothing secret, such as the path of
 * the RPC's URL.
 */
export type ChainAnswer = { kind: 'returned'; data: string } | { kind: 'unavailable'; why: string }

/** `could_not_check`: neither proven nor disproven; try again later. The caller responds with 503 and keeps the challenge. */
export type ContractVerdict = SignatureVerdict | { kind: 'could_not_check'; why: string }

export type ContractClaim = {
  message: string
  /** As the wallet gave it, with or without the wrapper of ERC-6492. */
  signature: string
  address: Address
  /**
   * The chain that the readers must be of. The check code compares the chain id in every call, so an RPC that changes
   * chains proves nothing.
   */
  chainId: number
}

/**
 * Checks with every reader whether the contract at `address` accepts `signature` for `message`: one `eth_call` each,
 * all at once.
 *
 * - `valid`: all readers confirm it. If all readers return the same wrong answer, it is accepted; therefore a chain
 *   should have two readers of different operators.
 * - `malformed`: not `0x` and whole bytes in hexadecimal, over 8 kB of text, or a wrapper that does not decode.
 * - `not_proven`: all readers deny it. The wallet refuses, fails or returns anything but the magic value, or the
 *   address has no code of its own.
 * - `could_not_check`: a reader did not respond, is of another chain, or contradicts another reader. Never proof of
 *   anything.
 */
export async function verifyContractSignature(readers: readonly ChainReader[], claim: ContractClaim): Promise<ContractVerdict> {
  if (typeof claim.signature !== 'string' || claim.signature.length > longestSignature) return { kind: 'malformed' }
  if (!/^0x(?:[0-9A-Fa-f]{2})*$/.test(claim.signature)) return { kind: 'malformed' }
  // These addresses have no key, and some of them respond to calls: refuse them before any network call.
  const address = parseAddress(claim.address)
  if (address.kind !== 'address') return { kind: 'not_proven' }
  const unwrapped = unwrapSignature(claim.signature)
  if (unwrapped.kind === 'malformed') return { kind: 'malformed' }

  const code = composeCheck({
    chainId: claim.chainId,
    wallet: address.address,
    question: composeQuestion(claim.message, unwrapped.signature),
    deployment: unwrapped.kind === 'wrapped' ? unwrapped : undefined,
  })
  return askAll(readers, code)
}

/** Runs the check code with every reader, all at once. `valid` only if all of them return yes. */
export async function askAll(readers: readonly ChainReader[], code: string): Promise<ContractVerdict> {
  return agree(await Promise.all(readers.map((reader) => askContract(reader, code))))
}

/** Bounds the work; the HTTP layer has a lower bound. */
const longestSignature = 8_192

async function askContract(reader: ChainReader, code: string): Promise<ContractVerdict> {
  const answer = await reader.call({ data: code, gas: checkGas })
  if (answer.kind === 'unavailable') return { kind: 'could_not_check', why: answer.why }
  if (answer.data === answers.yes) return { kind: 'valid' }
  if (answer.data === answers.no) return { kind: 'not_proven' }
  return { kind: 'could_not_check', why: answers.otherChain.includes(answer.data) ? 'other_chain' : 'no_answer_of_the_check' }
}

/**
 * The common verdict of all readers. If a reader could not check, if two readers disagree, or if there is no reader,
 * the result is `could_not_check`.
 */
function agree(verdicts: ContractVerdict[]): ContractVerdict {
  const [first] = verdicts
  if (first === undefined) return { kind: 'could_not_check', why: 'no_chain' }
  const unchecked = verdicts.find(({ kind }) => kind === 'could_not_check')
  if (unchecked !== undefined) return unchecked
  return verdicts.every(({ kind }) => kind === first.kind) ? first : { kind: 'could_not_check', why: 'chains_disagree' }
}

/** ERC-1271: `isValidSignature(bytes32 hash, bytes signature)`; the second argument begins after two words. */
function composeQuestion(message: string, signature: string): string {
  const selector = magicValue.toString(16)
  return selector + bytesToHex(hashPersonalMessage(message)) + writeWord(64) + encodeBytes(signature.slice(2))
}

/** ERC-191, as `personal_sign` hashes: the owners of a contract wallet sign the same text as ordinary wallets. */
function hashPersonalMessage(message: string): Uint8Array {
  const text = utf8ToBytes(message)
  return keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`), text))
}
