/**
 * The few instructions that ask a contract wallet about a signature, run by `eth_call` without a recipient.
 *
 * Such a call runs init code and hands back what the code would have deployed; nothing is stored and nobody pays. All questions are so
 * answered in one call and of one and the same block: is this the right chain, is there code, is it the account's own, what does it say.
 * And whatever a hostile contract does, reverting in some dialect of some client, looping, answering at length, happens inside a call
 * of ours that survives it: the node has nothing to report but one byte.
 */

/** What the code hands back, one byte. */
export const answers = {
  no: '0x00',
  yes: '0x01',
  /** The chain that ran it is another one; whether the wallet there said yes (3) or no (2) means nothing. */
  otherChain: ['0x02', '0x03'],
}

/** What the whole call may burn. Under what a transaction may (EIP-7825), so that no client refuses it. */
export const checkGas = 10_000_000
/** What deploying the wallet may burn: about twenty times a proxy wallet, so that an endless loop ends. */
const deployGas = 7_000_000
/** What the wallet's answer may burn: several passkeys checked without a precompile. Both leave enough for the rest of the code. */
const answerGas = 2_500_000

export type WalletCheck = {
  chainId: number
  /** `0x` and 40 digits, as are all addresses here. */
  wallet: string
  /** The call of ERC-1271, in digits. */
  question: string
  /** How the wallet is deployed where it has no code yet (ERC-6492). */
  deployment?: { factory: string; factoryCall: string } | undefined
}

/** Memory: the answer in the first word, the question behind it, the factory's call behind that. */
const answerAt = 0
const questionAt = 32

/** Composes the init code, `0x` and digits. */
export function composeCheck({ chainId, wallet, question, deployment }: WalletCheck): string {
  const factoryCall = deployment?.factoryCall.slice(2) ?? ''
  const texts = { at: questionAt, size: sizeOf(question) }
  const factoryTexts = { at: questionAt + texts.size, size: sizeOf(factoryCall) }
  const parts = (start: number, ask: number): [string, string, string] => [
    loadTexts(start, texts.size + factoryTexts.size),
    deployment === undefined ? '' : deployUnlessThere(ask, wallet, deployment.factory, factoryTexts),
    askWallet(chainId, wallet, texts),
  ]
  // Numbers have a fixed width, so the parts have the same sizes whatever stands in them: measured first, then written.
  const [load, deploy, ask] = parts(0, 0).map(sizeOf) as [number, number, number]
  return `0x${parts(load + deploy + ask, load + deploy).join('')}${question}${factoryCall}`
}

/** The texts follow the instructions; they are copied into memory. */
function loadTexts(start: number, size: number): string {
  return [
    push(2, size), //            how much
    push(2, start), //           from behind the instructions
    push(1, questionAt), //      to behind the answer's word
    op.codecopy,
  ].join('')
}

/**
 * Where the wallet has code already the factory is never called, also when the wallet then says no: the call is the claimant's own, and
 * could move a living wallet, for one moment, into a state in which it says yes. A wallet without code has no state of its own yet, and
 * code can come to its address by nothing but the deployment that the address was computed from.
 */
function deployUnlessThere(ask: number, wallet: string, factory: string, factoryCall: Span): string {
  return [
    pushAddress(wallet),
    op.extcodesize,
    push(2, ask), //             code there: do not deploy
    op.jumpi,

    push(1, 0), //               no room for what the factory answers: the address is what counts
    push(1, 0),
    push(2, factoryCall.size),
    push(2, factoryCall.at),
    push(1, 0), //               no value
    pushAddress(factory),
    push(3, deployGas),
    op.call,
    op.pop, //                   failed or not: is there code now?
  ].join('')
}

/**
 * Yes only when all of it holds: the call succeeds, what comes back is one word and no more, the word is the magic value and zeros
 * (ERC-1271), there is code, and the code is the account's own.
 *
 * An account that only delegates (EIP-7702: its code is 0xef0100 and an address) still has its key, which signs for it; what it
 * delegates to does not speak for the key. No other code begins with 0xef (EIP-3541). A precompile, such as the one that echoes what it
 * is asked, answers but has no code.
 */
function askWallet(chainId: number, wallet: string, question: Span): string {
  return [
    op.jumpdest,
    push(1, 32), //              room for one word
    push(1, answerAt),
    push(2, question.size),
    push(2, question.at),
    pushAddress(wallet),
    push(3, answerGas),
    op.staticcall, //            1 when it succeeds

    op.returndatasize,
    push(1, 32),
    op.eq,
    op.and,

    push(1, answerAt),
    op.mload,
    push(4, magicValue),
    push(1, 224), //             left-aligned: the other 28 bytes are zeros
    op.shl,
    op.eq,
    op.and,

    pushAddress(wallet),
    op.extcodesize,
    op.iszero,
    op.iszero,
    op.and,

    push(1, 1), //               the first byte of its code …
    push(1, 0),
    push(1, answerAt), //        … over the first byte of the answer, which was compared already
    pushAddress(wallet),
    op.extcodecopy,
    push(1, answerAt),
    op.mload,
    push(1, 0),
    op.byte,
    push(1, 0xef),
    op.eq,
    op.iszero,
    op.and, //                   1: yes, 0: no

    op.chainid,
    push(7, chainId),
    op.eq,
    op.iszero,
    push(1, 1),
    op.shl, //                   2 on another chain
    op.or,

    push(1, answerAt),
    op.mstore8,
    push(1, 1),
    push(1, answerAt),
    op.return,
  ].join('')
}

/** ERC-1271: the first four bytes of the hash of `isValidSignature(bytes32,bytes)`, both the question's selector and the answer. */
export const magicValue = 0x1626ba7e

/** No PUSH0 among them: chains that lag behind can be homes too. */
const op = {
  eq: '14',
  iszero: '15',
  and: '16',
  or: '17',
  byte: '1a',
  shl: '1b',
  codecopy: '39',
  extcodesize: '3b',
  extcodecopy: '3c',
  returndatasize: '3d',
  chainid: '46',
  pop: '50',
  mload: '51',
  mstore8: '53',
  jumpi: '57',
  jumpdest: '5b',
  call: 'f1',
  return: 'f3',
  staticcall: 'fa',
}

type Span = { at: number; size: number }

/** PUSHn: the number, `bytes` wide. */
function push(bytes: number, number: number): string {
  const digits = number.toString(16).padStart(bytes * 2, '0')
  if (digits.length !== bytes * 2) throw new RangeError(`a number of the wallet check needs more than ${bytes} bytes`)
  return (0x5f + bytes).toString(16) + digits
}

/** PUSH20. */
function pushAddress(address: string): string {
  return `73${address.slice(2).toLowerCase()}`
}

function sizeOf(digits: string): number {
  return digits.length / 2
}
