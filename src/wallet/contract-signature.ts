/**
 * Proof that a contract wallet accepts a signature over a text (ERC-1271), deployed or not yet (ERC-6492).
 *
 * Only the chain knows what a contract accepts, so this asks one, through a port. It is asked last: a wallet with a key of its own is
 * proven by `signature.ts` with no chain configured and none called.
 */

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, parseAddress } from './address.ts'
import { answers, checkGas, composeCheck, magicValue } from './check-code.ts'
import type { SignatureVerdict } from './signature.ts'
import { encodeBytes, unwrapSignature, writeWord } from './wrapped-signature.ts'

/** One RPC endpoint of the home chain. It never throws: what goes wrong on the way is `unavailable`. */
export type ChainReader = {
  /**
   * Runs init code (`data`: `0x` and digits) with `eth_call` on the latest block and gives back what it returned, as `0x` and digits.
   * An execution that failed counts as `unavailable`: the code asked with here catches all failures of others.
   */
  call(request: { data: string; gas: number }): Promise<ChainAnswer>
}

/** `why` is for the operator's log: never shown to a user, and free of what may be secret, such as the path of the RPC's URL. */
export type ChainAnswer = { kind: 'returned'; data: string } | { kind: 'unavailable'; why: string }

/** `could_not_check`: neither proven nor disproven; try again later. The caller answers 503 and keeps the challenge. */
export type ContractVerdict = SignatureVerdict | { kind: 'could_not_check'; why: string }

export type ContractClaim = {
  message: string
  /** As the wallet gave it, with or without the wrapper of ERC-6492. */
  signature: string
  address: Address
  /** The chain the readers must be of. Each answer says of which chain it is, so an RPC that changes sides proves nothing. */
  chainId: number
}

/**
 * Asks every reader whether the contract at `address` accepts `signature` for `message`: one `eth_call` each, all at once.
 *
 * - `valid`: all readers say so. They are trusted together: readers that all lie the same lie are believed, which is why a chain
 *   should have two, of different operators.
 * - `malformed`: not `0x` and whole bytes in hexadecimal, over 8 kB of text, or a wrapper that does not decode.
 * - `not_proven`: all say no. The wallet refuses, fails, answers anything but the magic value, or there is no wallet of its own code.
 * - `could_not_check`: a reader did not answer, is of another chain, or says otherwise than another. Never proof of anything.
 */
export async function verifyContractSignature(readers: readonly ChainReader[], claim: ContractClaim): Promise<ContractVerdict> {
  if (typeof claim.signature !== 'string' || claim.signature.length > longestSignature) return { kind: 'malformed' }
  if (!/^0x(?:[0-9A-Fa-f]{2})*$/.test(claim.signature)) return { kind: 'malformed' }
  // Nobody has a key for these addresses and some of them answer: refused before the network.
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
  return agree(await Promise.all(readers.map((reader) => ask(reader, code))))
}

/** Bounds the work; the door refuses more already. */
const longestSignature = 8_192

async function ask(reader: ChainReader, code: string): Promise<ContractVerdict> {
  const answer = await reader.call({ data: code, gas: checkGas })
  if (answer.kind === 'unavailable') return { kind: 'could_not_check', why: answer.why }
  if (answer.data === answers.yes) return { kind: 'valid' }
  if (answer.data === answers.no) return { kind: 'not_proven' }
  return { kind: 'could_not_check', why: answers.otherChain.includes(answer.data) ? 'other_chain' : 'no_answer_of_the_check' }
}

/** What all say; one that could not say is enough to know nothing, as is one that says otherwise, and so is nobody asked. */
function agree(verdicts: ContractVerdict[]): ContractVerdict {
  const [first] = verdicts
  if (first === undefined) return { kind: 'could_not_check', why: 'no_chain' }
  const unchecked = verdicts.find(({ kind }) => kind === 'could_not_check')
  if (unchecked !== undefined) return unchecked
  return verdicts.every(({ kind }) => kind === first.kind) ? first : { kind: 'could_not_check', why: 'chains_disagree' }
}

/** ERC-1271: `isValidSignature(bytes32 hash, bytes signature)`; the second argument begins behind two words. */
function composeQuestion(message: string, signature: string): string {
  const selector = magicValue.toString(16)
  return selector + bytesToHex(hashPersonalMessage(message)) + writeWord(64) + encodeBytes(signature.slice(2))
}

/** ERC-191, as `personal_sign` does it: a contract wallet's owners sign the same text as everybody. */
function hashPersonalMessage(message: string): Uint8Array {
  const text = utf8ToBytes(message)
  return keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`), text))
}
