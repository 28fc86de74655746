/**
 * EVM code that checks a signature with a contract wallet. `eth_call` runs the code without a recipient.
 *
 * Such a call runs init code and returns what the code would have deployed; nothing is stored and no gas is paid. One
 * call checks everything against the same block: the chain id, whether the address has code, whether the code is the
 * account's own, and the wallet's response. A hostile contract may revert, loop or return too much: that happens in an
 * inner call that this code survives, so the node returns one byte in every case.
 */

import { op, push, pushAddress, sizeOf } from './evm-code.ts'

/** The byte that the code returns. */
export const answers = {
  no: '0x00',
  yes: '0x01',
  /** The node is of another chain, so the wallet's yes (3) or no (2) on that chain proves nothing. */
  otherChain: ['0x02', '0x03'],
}

/** Gas limit of the whole call, below the limit of a transaction (EIP-7825), so no client refuses the call. */
export const checkGas = 10_000_000
/** Gas limit for deploying the wallet: about twenty times what a proxy wallet needs, so that an endless loop ends. */
const deployGas = 7_000_000
/**
 * Gas limit for the wallet's response: several passkeys checked without a precompile, which need about 300,000 each
 * (`packages/server/test/protocol/wallet/passkey-signature.test.ts`). Both limits leave enough for the rest of the code.
 */
export const answerGas = 2_500_000

export type WalletCheck = {
  chainId: number
  /** `0x` and 40 digits, like all addresses here. */
  wallet: string
  /** The calldata of ERC-1271, in digits. */
  question: string
  /** How the wallet is deployed if it has no code yet (ERC-6492). */
  deployment?: { factory: string; factoryCall: string } | undefined
}

/** Memory layout: the response in the first word, then the question, then the factory's calldata. */
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
  // Numbers have a fixed width, so the size of each part does not depend on them: the parts are measured first and then
  // written.
  const [load, deploy, ask] = parts(0, 0).map(sizeOf) as [number, number, number]
  return `0x${parts(load + deploy + ask, load + deploy).join('')}${question}${factoryCall}`
}

/** The texts follow the instructions and are copied into memory. */
function loadTexts(start: number, size: number): string {
  return [
    push(2, size), //            how much
    push(2, start), //           from the end of the instructions
    push(1, questionAt), //      to the memory after the response's word
    op.codecopy,
  ].join('')
}

/**
 * If the wallet has code, the factory is never called, even if the wallet then refuses the signature. The claimant
 * chose the factory's calldata, which could bring an existing wallet briefly into a state in which it accepts. A wallet
 * without code has no state yet, and only the deployment from which the address was computed can put code there.
 */
function deployUnlessThere(ask: number, wallet: string, factory: string, factoryCall: Span): string {
  return [
    pushAddress(wallet),
    op.extcodesize,
    push(2, ask), //             the address has code: do not deploy
    op.jumpi,

    push(1, 0), //               no room for the factory's return data: only the address matters
    push(1, 0),
    push(2, factoryCall.size),
    push(2, factoryCall.at),
    push(1, 0), //               no value
    pushAddress(factory),
    push(3, deployGas),
    op.call,
    op.pop, //                   whether or not the call failed, check for code again
  ].join('')
}

/**
 * Yes only if all of this holds: the call succeeds, the response is exactly one word, the word is the magic value
 * followed by zeros (ERC-1271), the address has code, and the code is the account's own.
 *
 * An account that only delegates (EIP-7702: its code is 0xef0100 and an address) still has its key, and only that key
 * signs for it. The contract that it delegates to cannot sign for the key. No other code begins with 0xef (EIP-3541). A
 * precompile, such as the one that returns its input, responds but has no code.
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
    push(1, answerAt), //        … over the first byte of the response, which was compared before
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

    returnAnswer(chainId),
  ].join('')
}

/** Returns the byte: the 1 or 0 on the stack, and 2 more if the node is of another chain. */
function returnAnswer(chainId: number): string {
  return [
    op.chainid,
    push(7, chainId),
    op.eq,
    op.iszero,
    push(1, 1),
    op.shl,
    op.or,

    push(1, answerAt),
    op.mstore8,
    push(1, 1),
    push(1, answerAt),
    op.return,
  ].join('')
}

/**
 * Composes init code that returns yes if the key of an account counts: the account has no code, or exactly the code of a
 * delegation (EIP-7702).
 *
 * No key can sign for an account with any other code (EIP-3607). The drafts that let an account switch off its key write such
 * code: 0xef0101 and an address (EIP-7851), a delegation with one more byte (its first version), 0xef0101 and another key
 * (EIP-8164).
 */
export function composeKeyCheck({ chainId, account }: { chainId: number; account: string }): string {
  return `0x${[
    pushAddress(account),
    op.extcodesize,
    op.iszero, //                no code

    pushAddress(account),
    op.extcodesize,
    push(1, delegationSize),
    op.eq,

    push(1, 3), //               the first three bytes of the code …
    push(1, 0),
    push(1, answerAt + 29), //   … at the end of a word of zeros
    pushAddress(account),
    op.extcodecopy,
    push(1, answerAt),
    op.mload,
    push(3, delegationPrefix),
    op.eq,
    op.and,

    op.or,
    returnAnswer(chainId),
  ].join('')}`
}

/** EIP-7702: the code of an account that delegates is this prefix and an address. */
const delegationPrefix = 0xef0100
const delegationSize = 23

/**
 * ERC-1271: the first four bytes of the hash of `isValidSignature(bytes32,bytes)`, which are both the selector of the
 * call and its response.
 */
export const magicValue = 0x1626ba7e

type Span = { at: number; size: number }
